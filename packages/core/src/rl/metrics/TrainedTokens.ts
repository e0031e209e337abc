/**
 * The tokens that an iteration trained on, one by one: the payload of its `Updated` record. Each datum has a log-probability and an
 * advantage per trained token, as base64 of little-endian 32-bit floats.
 *
 * @example
 * const tokens = TrainedTokens.decode("{\"datums\":[]}")
 */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { TrainingDatum } from "../../learn/TrainingData.ts"
import * as Key from "../../records/Key.ts"
import * as Base64Array from "../../rollout/payload/Base64Array.ts"
import type { LogprobsOf } from "../../run/Program.ts"

const Datum = Schema.Struct({
  group: Schema.String,
  /** The group's dataset batch; absent if it is the record's iteration. */
  iteration: Schema.optionalKey(Schema.Int),
  member: Schema.Int,
  /** The turns whose trained tokens the datum holds, in order. */
  ...Key.turnFields,
  /** Log-probabilities under the trained weights, before the update. */
  logprobs: Base64Array.float32,
  advantages: Base64Array.float32
})
/** The trained tokens of one datum. */
export interface Datum extends Schema.Schema.Type<typeof Datum> {}

const Payload = Schema.fromJsonString(Schema.Struct({ datums: Schema.Array(Datum) }))

const trained = (values: Float32Array, { inputs: { mask } }: TrainingDatum) => values.filter((_, t) => mask[t] !== 0)

/** Encodes the datums with the trainer's log-probabilities; NaN for a datum without them. Undefined if no datum has any. */
export const encode = (
  data: ReadonlyArray<TrainingDatum>,
  logprobsOf: LogprobsOf,
  iteration: number
): string | undefined => {
  if (!data.some((datum) => logprobsOf(datum) !== undefined)) return undefined
  const datums = data.map((datum) => {
    const { advantages, mask } = datum.inputs
    const { group, iteration: batch, member, turns } = datum.origin
    const own = logprobsOf(datum)
    return {
      group,
      ...(batch !== iteration && { iteration: batch }),
      member,
      ...Key.encodeTurns(turns),
      logprobs: Base64Array.encode(
        trained(own?.length === mask.length ? own : new Float32Array(mask.length).fill(NaN), datum)
      ),
      advantages: Base64Array.encode(trained(advantages, datum))
    }
  })
  return JSON.stringify({ datums })
}

/** Inverse of `encode`. Fails with `SchemaError` if the text is not such a payload. */
export const decode: (payload: string) => Effect.Effect<{ readonly datums: ReadonlyArray<Datum> }, Schema.SchemaError> =
  Schema.decodeUnknownEffect(Payload)
