/**
 * Dynamic sampling: an iteration keeps sampling groups beyond its batch until enough of them are informative. The next group of the dataset
 * replaces each group without a signal.
 *
 * @example
 * Rl.run({ model, dataset, rollout: { dynamic: { minInformative: 12, maxBatches: 4 } } })
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Check from "../settings/Check.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as Setting from "../settings/Setting.ts"

/**
 * The settings of dynamic sampling. With `minInformative` above 0, an update has that many informative groups, or fewer if the maximum
 * number of batches was sampled or the dataset is used up. All sampled groups are recorded.
 *
 * @see DAPO, arXiv:2503.14476
 */
export const DynamicSettings = Schema.Struct({
  /** Number of groups with different rewards until which an iteration keeps sampling; 0 samples one batch. Default: 0 problems. */
  minInformative: Setting.int({
    least: 0,
    default: 0,
    unit: "problems",
    help: "Number of groups with different rewards until which an iteration keeps sampling; 0 samples one batch",
    identity: true
  }),
  /** Largest number of batches that an iteration samples to find minInformative groups; 3 unless given. */
  maxBatches: Setting.int({
    least: 1,
    unit: "batches",
    help: "Largest number of batches that an iteration samples to find minInformative groups; 3 unless given",
    identity: true
  })
})
export interface DynamicSettings extends Schema.Codec.Encoded<typeof DynamicSettings> {}

/** The settings with defaults filled in. */
export interface Resolved extends Required<typeof DynamicSettings.Type> {}

/** The default of `maxBatches`. */
export const defaultMaxBatches = 3

/** Fills in the defaults. Fails with the first setting that is invalid, or with `maxBatches` if it is given while `minInformative` is 0. */
export const resolve = Effect.fnUntraced(function*(
  settings: DynamicSettings
): Effect.fn.Return<Resolved, InvalidOption> {
  const { maxBatches, minInformative } = yield* Setting.decode(DynamicSettings, settings, "rollout.dynamic")
  yield* Check.all(Check.option("rollout.dynamic.maxBatches", maxBatches, {
    expected: "left out, or rollout.dynamic.minInformative above 0 as well: otherwise an iteration samples one batch",
    accepts: () => minInformative > 0
  }))
  return { minInformative, maxBatches: maxBatches ?? defaultMaxBatches }
})
