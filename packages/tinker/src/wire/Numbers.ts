/** Arrays of numbers in JSON, of which a body has millions: a schema that is called for each takes seconds. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaParser from "effect/SchemaParser"

/** Every element is looked at by `is`; the schema says what is wrong with the first that is not valid. */
const checked = <A>(element: Schema.Codec<A>, is: (value: unknown) => value is A) => {
  const explain = SchemaParser.decodeUnknownEffect(element)
  return Schema.declareConstructor<ReadonlyArray<A>>()(
    [Schema.Array(element)],
    ([array]) => (input, _, options) => {
      if (!Array.isArray(input)) return SchemaParser.decodeUnknownEffect(array)(input, options)
      if (input.every(is)) return Effect.succeed(input)
      const at = input.findIndex((value) => !is(value))
      return Effect.mapBoth(explain(input[at], options), {
        onFailure: (issue) => new SchemaIssue.Pointer([at], issue),
        onSuccess: () => input
      })
    }
  )
}

const isNumber = (value: unknown): value is number | bigint => typeof value === "number" || typeof value === "bigint"

const isInt = (value: unknown): value is number => Number.isSafeInteger(value)

/** Numbers, of which those above 2^53 arrive as bigints. */
export const Numbers = checked(Schema.Union([Schema.Number, Schema.BigInt]), isNumber)

export const Ints = checked(Schema.Int, isInt)
