/** Divides rows into batches, epoch by epoch. */
import * as Effect from "effect/Effect"
import * as Seed from "../records/Seed.ts"

export interface Options {
  /** Rows per batch. */
  readonly batchSize: number
  /** The number of passes over the rows. Default: 1. */
  readonly epochs?: number
  /** Drop the rows at the end of an epoch that do not fill a batch. Default: false. */
  readonly dropRemainder?: boolean
  /** Shuffle each epoch in a different order, derived from the run's seed. Default: false. */
  readonly shuffle?: boolean
}

/** A row with its index in the array. */
export interface Placed<out A> {
  readonly row: A
  readonly at: number
}

/** The last batch of the first epoch, if it has fewer rows than the other batches. */
export interface ShortBatch {
  /** Index of the short batch. */
  readonly batch: number
  readonly rows: number
  readonly batchSize: number
}

export interface Epochs<out A> {
  /** The number of batches in all epochs. */
  readonly length: number
  /** A hash of the rows and their order, for a dataset's fingerprint. */
  readonly fingerprint: string
  /** The last batch of the first epoch, if it is short; undefined if every batch is full, or if an epoch has only one batch. */
  readonly shortBatch: ShortBatch | undefined
  /**
   * The rows of a batch, as a pure function of the arguments. Dies if `index` is out of range. A batch never contains rows of two epochs.
   */
  readonly batch: (index: number, seed: number) => Effect.Effect<ReadonlyArray<Placed<A>>>
}

/** Dies if the dataset has no batch with that index. */
export const checkIndex = (dataset: string, index: number, length: number): Effect.Effect<void> =>
  Number.isInteger(index) && index >= 0 && index < length
    ? Effect.void
    : Effect.die(new RangeError(`${dataset}.batch: index is ${index}, expected 0 up to ${length} exclusive`))

/** A 32-bit hash of JSON values as eight hexadecimal digits, for fingerprints. */
export const hashOf = (values: ReadonlyArray<unknown>): string =>
  values.reduce((hash: number, value) => Seed.derive(hash, JSON.stringify(value)), 0).toString(16).padStart(8, "0")

/** Batches of the rows. `dataset` names the kind of dataset: its errors begin with the name, and its shuffles depend on it. */
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
