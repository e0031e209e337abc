/** Rows in batches, epoch by epoch: the order of training data. */
import * as Effect from "effect/Effect"
import * as Seed from "../records/Seed.ts"

export interface Options {
  readonly batchSize: number
  /** The number of passes over the rows; default 1. */
  readonly epochs?: number
  /** Leave out the rows at the end of an epoch that do not fill a batch; default false. */
  readonly dropRemainder?: boolean
  /** Whether each epoch has an order of its own, derived from the run's seed; default false. */
  readonly shuffle?: boolean
}

/** A row with its index in the array. */
export interface Placed<out A> {
  readonly row: A
  readonly at: number
}

/** The batch at the end of the first epoch, where its rows are fewer than those of the others. */
export interface ShortBatch {
  /** Index of the batch. */
  readonly batch: number
  readonly rows: number
  readonly batchSize: number
}

export interface Epochs<out A> {
  /** Batches of all epochs. */
  readonly length: number
  /** The rows and their order, as part of a dataset's fingerprint. */
  readonly fingerprint: string
  /** Undefined where every batch is full. */
  readonly shortBatch: ShortBatch | undefined
  /** A pure function of its arguments; dies where there is no batch of that index. No batch mixes two epochs. */
  readonly batch: (index: number, seed: number) => Effect.Effect<ReadonlyArray<Placed<A>>>
}

/** Dies where there is no batch of that index. */
export const checkIndex = (dataset: string, index: number, length: number): Effect.Effect<void> =>
  Number.isInteger(index) && index >= 0 && index < length
    ? Effect.void
    : Effect.die(new RangeError(`${dataset}.batch: index is ${index}, expected 0 up to ${length} exclusive`))

/** A hash of JSON values, for fingerprints. */
export const hashOf = (values: ReadonlyArray<unknown>): string =>
  values.reduce((hash: number, value) => Seed.derive(hash, JSON.stringify(value)), 0).toString(16).padStart(8, "0")

/** `dataset` names the kind of dataset: its errors begin with the name, and its shuffles derive from it. */
export const make = <A>(
  dataset: string,
  rows: ReadonlyArray<A>,
  { batchSize, dropRemainder = false, epochs = 1, shuffle = false }: Options
): Epochs<A> => {
  const entries = rows.map((row, at) => ({ row, at }))
  const round = dropRemainder ? Math.floor : Math.ceil
  const batchesPerEpoch = round(rows.length / batchSize)
  const length = batchesPerEpoch * epochs
  const remainder = dropRemainder ? 0 : rows.length % batchSize
  const orderOf = (epoch: number, seed: number) =>
    shuffle ? Seed.permutation(rows.length, Seed.derive(seed, dataset, epoch)) : Uint32Array.from(rows.keys())
  return {
    length,
    fingerprint: `${rows.length} rows (${hashOf(rows)}) ${shuffle ? "shuffled" : "in order"}`,
    shortBatch: remainder === 0 || batchesPerEpoch < 2
      ? undefined
      : { batch: batchesPerEpoch - 1, rows: remainder, batchSize },
    batch: (index, seed) =>
      Effect.map(checkIndex(dataset, index, length), () => {
        const start = (index % batchesPerEpoch) * batchSize
        const order = orderOf(Math.floor(index / batchesPerEpoch), seed).subarray(start, start + batchSize)
        return Array.from(order).flatMap((at) => entries[at] ?? [])
      })
  }
}
