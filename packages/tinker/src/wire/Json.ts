/** JSON text in which whole numbers too large for a double keep every digit. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** The text is not JSON, or not JSON of the expected shape. */
export class MalformedBody extends Schema.TaggedError<MalformedBody>()("MalformedBody", { detail: Schema.String }) {
  override get message() {
    return `the body cannot be read: ${this.detail}`
  }
}

/** A counter chosen by a client; those above 2^53 arrive as bigints. */
export const SequenceId = Schema.Union([Schema.Int, Schema.BigInt])
export type SequenceId = typeof SequenceId.Type

const isWhole = /^-?\d+$/

const exact = (_: string, value: unknown, context?: { readonly source?: string }) =>
  typeof value === "number" && !Number.isSafeInteger(value) && context?.source !== undefined
    && isWhole.test(context.source)
    ? BigInt(context.source)
    : value

/** Looking at every value costs several times the parsing, and few texts have such a number. */
const mayHoldLarge = /[[:,\s]-?\d{16}/

/** Any JSON value, with whole numbers beyond 2^53 as bigints. */
export const parse = (text: string): Effect.Effect<unknown, MalformedBody> =>
  Effect.try({
    try: (): unknown => mayHoldLarge.test(text) ? JSON.parse(text, exact) : JSON.parse(text),
    catch: (cause) => new MalformedBody({ detail: String(cause) })
  })

/** Unknown keys are ignored. */
export const decode = <S extends Schema.Decoder<unknown>>(schema: S) => {
  const run = Schema.decodeUnknownEffect(schema)
  return (value: unknown): Effect.Effect<S["Type"], MalformedBody> =>
    Effect.mapError(run(value), (error) => new MalformedBody({ detail: error.message }))
}

/** Parses and decodes. */
export const decodeText = <S extends Schema.Decoder<unknown>>(schema: S) => {
  const run = decode(schema)
  return (text: string): Effect.Effect<S["Type"], MalformedBody> => Effect.flatMap(parse(text), run)
}
