/**
 * Dynamic sampling: an iteration takes further batches until enough groups are informative.
 *
 * @example
 * Rl.run({ model, dataset, rollout: { dynamic: { minInformative: 12, maxBatches: 4 } } })
 */
import * as Schema from "effect/Schema"
import type { EnvGroupBuilder } from "../env/EnvGroupBuilder.ts"
import * as Signal from "../learn/Signal.ts"
import * as Setting from "../record/Setting.ts"
import * as GroupResult from "../rollout/GroupResult.ts"

/**
 * Every group that was sampled is reported, and every informative one trained on, also beyond `minInformative`.
 *
 * @see DAPO, arXiv:2503.14476
 */
export const DynamicSettings = Schema.Struct({
  minInformative: Setting.int({
    least: 0,
    default: 0,
    unit: "problems",
    help: "Groups with attempts of different reward that an iteration keeps sampling for; 0 samples one batch",
    identity: true
  }),
  maxBatches: Setting.int({
    least: 1,
    default: 3,
    unit: "batches",
    help: "Most batches that an iteration takes to find them",
    identity: true
  })
})
export interface DynamicSettings extends Schema.Codec.Encoded<typeof DynamicSettings> {}

type Settings = typeof DynamicSettings.Type

/** Whether an iteration that has sampled these groups in so many batches needs another. */
export const needsMore = (
  { maxBatches, minInformative }: Settings,
  results: ReadonlyArray<GroupResult.GroupResult>,
  batches: number
) => {
  const informative = results.filter((result) => !GroupResult.isSkipped(result) && Signal.isInformative(result))
  return batches < maxBatches && informative.length < minInformative
}

/** A builder whose key names its batch, so that keys stay unique within an iteration of several batches. */
export const rekeyed = <E, R>(builder: EnvGroupBuilder<E, R>, batches: number): EnvGroupBuilder<E, R> =>
  batches === 0 ? builder : { ...builder, key: `more${batches}/${builder.key}` }
