/**
 * What an iteration trained on, token by token: the payload of its `Updated` record, with a value for each trained token of each datum
 * as base64 of little-endian 32-bit floats.
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
  /** The dataset's batch to which the group belongs, where that is not the record's iteration. */
  iteration: Schema.optionalKey(Schema.Int),
  member: Schema.Int,
  /** The datum holds the trained tokens of these turns, one after the other. */
  ...Key.turnFields,
  /** Log-probabilities under the weights that were trained, before the update. */
  logprobs: Base64Array.float32,
  advantages: Base64Array.float32
})
/** The trained tokens of one datum. */
export interface Datum extends Schema.Schema.Type<typeof Datum> {}

const Payload = Schema.fromJsonString(Schema.Struct({ datums: Schema.Array(Datum) }))

const trained = (values: Float32Array, { inputs: { mask } }: TrainingDatum) => values.filter((_, t) => mask[t] !== 0)

/** The datums with the trainer's log-probabilities of each; undefined where it gave none. */
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

/** The datums that `encode` wrote. */
export const decode: (payload: string) => Effect.Effect<{ readonly datums: ReadonlyArray<Datum> }, Schema.SchemaError> =
  Schema.decodeUnknownEffect(Payload)
