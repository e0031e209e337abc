/** Batches of groups that are chosen by the results of earlier rollouts. */
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type { EnvGroupBuilder } from "../env/EnvGroupBuilder.ts"
import * as Seed from "../records/Seed.ts"
import * as Check from "../settings/Check.ts"
import { InvalidOption } from "../settings/InvalidOption.ts"
import * as History from "./History.ts"
import * as RLDataset from "./RLDataset.ts"

/**
 * The weight with which a group is chosen, relative to others: a number from 0 on. `seen` is undefined for a group that was never rolled
 * out.
 */
export interface Weight {
  /** Part of the dataset's fingerprint. */
  readonly name: string
  readonly of: (seen: History.Seen | undefined) => number
}

/** When a member has succeeded, and the least weight. */
export interface LearnabilityOptions {
  /** Members with at least this reward have succeeded. */
  readonly success: number
  /** The weight of groups that all members solve, or none; default 0.05, so that they are tried again from time to time. */
  readonly least?: number
}

/**
 * 4·p·(1 − p) for the share p of members that succeeded last time, but not below `least`; 1 for a group not yet seen. A group that half
 * of its members solve is the most informative.
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

/** The weight of groups, and the size of batches. */
export interface Options {
  readonly weight: Weight
  readonly groupsPerBatch: number
  /** The number of batches; that of the dataset unless given. */
  readonly batches?: number
}

type Groups<E, R> = ReadonlyArray<EnvGroupBuilder<E, R>>

/** All groups of a dataset, the first of each key; the groups of the most recent seed are cached. */
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

/** Orders groups by exponential draws at the rates of their weights; groups of weight 0 come last. */
const byRank = (left: Ranked<unknown, unknown>, right: Ranked<unknown, unknown>) =>
  Number(left.weight === 0) - Number(right.weight === 0) || left.rank - right.rank

/**
 * Chooses each batch anew from all groups of a dataset, by weight and without replacement. All knowledge about earlier groups is in
 * `history`, so that a resumed run chooses what an uninterrupted one would have chosen. The first batch fails with `InvalidOption` where
 * `groupsPerBatch` or `batches` is not a whole number from 1 on; so does any batch where a weight is not a number from 0 on.
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
          Check.option("groupsPerBatch", groupsPerBatch, Check.whole(1)),
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
          return yield* new InvalidOption({ field, found: String(wrong.weight), expected: "a number from 0 on" })
        }
        return ranked.toSorted(byRank).slice(0, groupsPerBatch).map(({ group }) => group)
      })
    }
  }
)
