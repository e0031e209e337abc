/** Chooses groups by the results of earlier rollouts. */
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type { EnvGroupBuilder } from "../env/EnvGroupBuilder.ts"
import * as Seed from "../records/Seed.ts"
import * as Check from "../settings/Check.ts"
import { InvalidOption } from "../settings/InvalidOption.ts"
import * as BatchSettings from "./BatchSettings.ts"
import * as History from "./History.ts"
import * as RLDataset from "./RLDataset.ts"

/**
 * The sampling weight of a group relative to the others; it must be ≥ 0. `seen` is undefined for a group that has not been rolled out yet.
 */
export interface Weight {
  /** The name of the weight in the dataset's fingerprint. */
  readonly name: string
  readonly of: (seen: History.Seen | undefined) => number
}

/** The success threshold and the minimum weight of `learnability`. */
export interface LearnabilityOptions {
  /** Members with at least this reward count as successful. */
  readonly success: number
  /** Minimum weight, so groups that all or no members solve are still tried from time to time. Default: 0.05. */
  readonly least?: number
}

/**
 * The weight max(4·p·(1 − p), `least`), where p is the fraction of finished members that succeeded in the group's latest rollout; `least`
 * if no member finished, and 1 for a group not yet seen. The weight is highest if half of the members succeed, because such a group is the
 * most informative.
 */
export const learnability = ({ least = 0.05, success }: LearnabilityOptions): Weight => ({
  name: `learnability ${success} ${least}`,
  of: (seen) => {
    if (seen === undefined) return 1
    if (seen.rewards.length === 0) return least
    const share = seen.rewards.filter((reward) => reward >= success).length / seen.rewards.length
    return Math.max(least, 4 * share * (1 - share))
  }
})

/** The group weight, and the size and number of batches. */
export interface Options extends Pick<BatchSettings.BatchSettings, "groupsPerBatch"> {
  /** The weight of a group, by its earlier results: groups are drawn in proportion to it. */
  readonly weight: Weight
  /** The number of batches. Default: as many as the dataset has. */
  readonly batches?: number
}

type Groups<E, R> = ReadonlyArray<EnvGroupBuilder<E, R>>

/** All groups of a dataset, without repeated keys. The groups of the most recent seed are cached. */
const pool = <E, R>(dataset: RLDataset.RLDataset<E, R>) => {
  let last: { readonly seed: number; readonly groups: Groups<E, R> } | undefined
  return Effect.fnUntraced(function*(seed: number): Effect.fn.Return<Groups<E, R>, E, R> {
    if (last?.seed === seed) return last.groups
    const byKey = new Map<string, EnvGroupBuilder<E, R>>()
    for (let index = 0; index < dataset.length; index++) {
      for (const group of yield* dataset.batch(index, seed)) {
        if (!byKey.has(group.key)) byKey.set(group.key, group)
      }
    }
    last = { seed, groups: [...byKey.values()] }
    return last.groups
  })
}

interface Ranked<E, R> {
  readonly group: EnvGroupBuilder<E, R>
  readonly weight: number
  readonly rank: number
}

/** Orders groups by exponential draws with their weights as rates. Groups with weight 0 come last. */
const byRank = (left: Ranked<unknown, unknown>, right: Ranked<unknown, unknown>) =>
  Number(left.weight === 0) - Number(right.weight === 0) || left.rank - right.rank

/**
 * Chooses each batch from all groups of a dataset, by weight and without replacement within the batch. Groups with weight 0 are chosen only
 * if too few others are left. The choice depends on earlier results only through `history`, so a resumed run chooses the same groups as an
 * uninterrupted one. The first batch fails with `InvalidOption` if `groupsPerBatch` or `batches` is not an integer ≥ 1; any batch fails
 * with it if a weight is not a number ≥ 0.
 *
 * @example
 * const adaptive = Difficulty.sample(dataset, { weight: Difficulty.learnability({ success: 1 }), groupsPerBatch: 16 })
 */
export const sample: {
  (options: Options): <E, R>(self: RLDataset.RLDataset<E, R>) => RLDataset.RLDataset<E | InvalidOption, R>
  <E, R>(self: RLDataset.RLDataset<E, R>, options: Options): RLDataset.RLDataset<E | InvalidOption, R>
} = dual(
  2,
  <E, R>(self: RLDataset.RLDataset<E, R>, options: Options): RLDataset.RLDataset<E | InvalidOption, R> => {
    const { batches = self.length, groupsPerBatch, weight } = options
    const groups = pool(self)
    return {
      length: batches,
      fingerprint: `${weight.name} by ${groupsPerBatch} of ${self.length} batches ${self.fingerprint}`,
      ...(self.code === undefined ? {} : { code: self.code }),
      readsHistory: true,
      batch: Effect.fnUntraced(function*(index, seed, history = History.empty) {
        yield* Check.all(
          ...BatchSettings.checks(options),
          Check.option("batches", batches, Check.whole(1))
        )
        yield* RLDataset.checkIndex(index, batches)
        const next = Seed.uniform(Seed.derive(seed, "Difficulty", index))
        const ranked = (yield* groups(seed)).map((group): Ranked<E, R> => {
          const weighed = weight.of(history.get(group.key))
          return { group, weight: weighed, rank: -Math.log(1 - next()) / (weighed === 0 ? 1 : weighed) }
        })
        const wrong = ranked.find(({ weight }) => !(Number.isFinite(weight) && weight >= 0))
        if (wrong !== undefined) {
          const field = `${weight.name}: weight of "${wrong.group.key}"`
          return yield* new InvalidOption({ field, found: String(wrong.weight), expected: "a number of at least 0" })
        }
        return ranked.toSorted(byRank).slice(0, groupsPerBatch).map(({ group }) => group)
      })
    }
  }
)
