/** Batches of groups to roll out. */
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type * as Env from "../env/Env.ts"
import type { EnvGroupBuilder } from "../env/EnvGroupBuilder.ts"
import * as Count from "../record/Count.ts"
import * as Seed from "../record/Seed.ts"
import type { History } from "./History.ts"

/**
 * `length` batches; `batch(i, seed, history)` is a pure function of all three, as resuming calls it again. The fingerprint
 * names the data, their order and what their groups are made of, but not how many batches there are, and is compared on
 * resume.
 *
 * @see tinker-cookbook `RLDataset`
 */
export interface RLDataset<out E = never, out R = never> {
  readonly length: number
  readonly fingerprint: string
  /** Its batches depend on how earlier ones went; otherwise nobody needs to remember that. */
  readonly readsHistory?: boolean
  /** `history` is of the iterations before `index`; empty unless given. */
  readonly batch: (
    index: number,
    seed: number,
    history?: History
  ) => Effect.Effect<ReadonlyArray<EnvGroupBuilder<E, R>>, E, R>
}

export interface FromArrayOptions<A, B> {
  /** Rows per batch; the last batch of a pass may have fewer. */
  readonly batchSize: number
  /** `index` is the row's place in the array, whatever the order. */
  readonly group: (row: A, index: number) => B
  /** In how many passes the rows are gone through; default 1. */
  readonly epochs?: number
  /** Leave out the rows at the end of a pass that do not fill a batch; default false. */
  readonly dropRemainder?: boolean
  /** Each pass in an order of its own, derived from the run's seed; default false. */
  readonly shuffle?: boolean
  /** What the groups are made of beside their rows, such as their size and the form of their prompts; part of the fingerprint. */
  readonly fingerprint?: string
}

/** Dies where there is no batch of that index. */
export const checkIndex = (index: number, length: number): Effect.Effect<void> =>
  Number.isInteger(index) && index >= 0 && index < length
    ? Effect.void
    : Effect.die(new RangeError(`RLDataset.batch: index is ${index}, expected 0 up to ${length} exclusive`))

/** Row count and a hash over the rows as JSON and all that decides what becomes of them. */
const fingerprintOf = (rows: ReadonlyArray<unknown>, decisions: ReadonlyArray<number | string>) => {
  const hash = rows.reduce((hash: number, row) => Seed.derive(hash, JSON.stringify(row)), Seed.derive(0, ...decisions))
  return `${rows.length}-${hash.toString(16).padStart(8, "0")}`
}

/**
 * Goes through rows of JSON values in batches, pass by pass. No batch mixes two passes, so that keys stay unique within one.
 * Builders of different kinds may be mixed: their errors and requirements add up. Throws where `batchSize` or `epochs` is not a
 * positive whole number; a batch outside of `length` dies.
 */
export function fromArray<A, B extends EnvGroupBuilder<unknown, unknown>>(
  rows: ReadonlyArray<A>,
  options: FromArrayOptions<A, B>
): RLDataset<Env.Error<B>, Env.Requirements<B>>
export function fromArray<A, E, R>(
  rows: ReadonlyArray<A>,
  options: FromArrayOptions<A, EnvGroupBuilder<E, R>>
): RLDataset<E, R> {
  const { batchSize, dropRemainder = false, epochs = 1, fingerprint = "", group, shuffle = false } = options
  Count.check("RLDataset.fromArray: batchSize", batchSize)
  Count.check("RLDataset.fromArray: epochs", epochs)
  const entries = rows.map((row, at) => ({ row, at }))
  const batchesPerEpoch = dropRemainder ? Math.floor(rows.length / batchSize) : Math.ceil(rows.length / batchSize)
  const length = batchesPerEpoch * epochs
  const orderOf = (epoch: number, seed: number) =>
    shuffle ? Seed.permutation(rows.length, Seed.derive(seed, "RLDataset", epoch)) : Uint32Array.from(rows.keys())
  return {
    length,
    fingerprint: fingerprintOf(rows, [
      batchSize,
      shuffle ? "shuffled" : "in order",
      fingerprint,
      ...(dropRemainder ? ["full batches"] : [])
    ]),
    batch: (index, seed) =>
      Effect.map(checkIndex(index, length), () => {
        const start = (index % batchesPerEpoch) * batchSize
        const order = orderOf(Math.floor(index / batchesPerEpoch), seed).subarray(start, start + batchSize)
        return Array.from(order).flatMap((at) => entries[at] ?? []).map(({ at, row }) => group(row, at))
      })
  }
}

/** Other groups in the place of each. `name` says what became of them, for the fingerprint. */
export const map: {
  <E, R, E2, R2>(
    name: string,
    f: (group: EnvGroupBuilder<E, R>) => EnvGroupBuilder<E2, R2>
  ): (self: RLDataset<E, R>) => RLDataset<E | E2, R | R2>
  <E, R, E2, R2>(
    self: RLDataset<E, R>,
    name: string,
    f: (group: EnvGroupBuilder<E, R>) => EnvGroupBuilder<E2, R2>
  ): RLDataset<E | E2, R | R2>
} = dual(
  3,
  <E, R, E2, R2>(
    self: RLDataset<E, R>,
    name: string,
    f: (group: EnvGroupBuilder<E, R>) => EnvGroupBuilder<E2, R2>
  ): RLDataset<E | E2, R | R2> => ({
    ...self,
    fingerprint: `${self.fingerprint}, ${name}`,
    batch: (index, seed, history) => Effect.map(self.batch(index, seed, history), (groups) => groups.map(f))
  })
)

/** Only the groups that `keep` accepts; batches may become shorter, and even empty. `name` says which, for the fingerprint. */
export const filter: {
  <E, R>(name: string, keep: (group: EnvGroupBuilder<E, R>) => boolean): (self: RLDataset<E, R>) => RLDataset<E, R>
  <E, R>(self: RLDataset<E, R>, name: string, keep: (group: EnvGroupBuilder<E, R>) => boolean): RLDataset<E, R>
} = dual(
  3,
  <E, R>(self: RLDataset<E, R>, name: string, keep: (group: EnvGroupBuilder<E, R>) => boolean): RLDataset<E, R> => ({
    ...self,
    fingerprint: `${self.fingerprint}, ${name}`,
    batch: (index, seed, history) => Effect.map(self.batch(index, seed, history), (groups) => groups.filter(keep))
  })
)
