/** Fast decoding of number arrays in JSON. A body may have millions of numbers, and calling a schema for each takes seconds. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaParser from "effect/SchemaParser"

/** Checks every element with `is`. The schema is used only to describe the first invalid element. */
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

/** A list of numbers; integers beyond ±2^53 are bigints. */
export const Numbers = checked(Schema.Union([Schema.Number, Schema.BigInt]), isNumber)

export const Ints = checked(Schema.Int, isInt)
