/** Datasets whose groups consist only of keys. */
import { type EnvGroupBuilder, RLDataset } from "@effect-rl/core"
import type { History } from "@effect-rl/core/environments"
import { Effect } from "effect"

export const builder = (key: string): EnvGroupBuilder.EnvGroupBuilder => ({
  key,
  size: 2,
  tags: [],
  open: Effect.succeed({ makeEnv: () => Effect.never })
})

/** `prefix0`, `prefix1`, … */
export const numbered = (prefix: string, count: number, groupsPerBatch: number) =>
  RLDataset.fromArray(Array.from({ length: count }, (_, index) => index), {
    groupsPerBatch,
    group: (index) => builder(`${prefix}${index}`)
  })

/** Batches with exactly these sizes. */
export const ragged = (...sizes: ReadonlyArray<number>): RLDataset.RLDataset => ({
  length: sizes.length,
  fingerprint: `ragged ${sizes.join()}`,
  batch: (index) => Effect.sync(() => Array.from({ length: sizes[index] ?? 0 }, (_, at) => builder(`${index}.${at}`)))
})

export const keys = <E, R>(
  dataset: RLDataset.RLDataset<E, R>,
  options: { readonly seed?: number; readonly history?: History.History } = {}
) =>
  Effect.forEach(
    Array.from({ length: dataset.length }, (_, index) => index),
    (index) =>
      Effect.map(
        dataset.batch(index, options.seed ?? 0, options.history),
        (groups) => groups.map(({ key }) => key)
      )
  )
