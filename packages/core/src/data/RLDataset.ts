/** Batches of groups to roll out. */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type { RendererError } from "../chat/Renderer.ts"
import type * as Env from "../env/Env.ts"
import * as EnvGroupBuilder from "../env/EnvGroupBuilder.ts"
import * as Check from "../settings/Check.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as Epochs from "./Epochs.ts"
import type { History } from "./History.ts"
import * as Problems from "./Problems.ts"

/**
 * A dataset of `length` batches; `batch(i, seed, history)` is a pure function of its arguments, because resuming calls it again. The
 * fingerprint identifies the data, their order and the make-up of their groups, but not the number of batches, and is compared on resume.
 *
 * @see tinker-cookbook `RLDataset`
 */
export interface RLDataset<out E = never, out R = never> {
  readonly length: number
  readonly fingerprint: string
  /** A batch that has fewer groups than the others because the rows of an epoch do not fill it. */
  readonly shortBatch?: Epochs.ShortBatch | undefined
  /** A hash of the source text of the functions that make and grade its groups. A resumed run warns where it has changed. */
  readonly code?: string
  /** Whether its batches depend on the results of earlier ones; otherwise no history is kept. */
  readonly readsHistory?: boolean
  /** `history` covers the iterations before `index`; empty unless given. */
  readonly batch: (
    index: number,
    seed: number,
    history?: History
  ) => Effect.Effect<ReadonlyArray<EnvGroupBuilder.EnvGroupBuilder<E, R>>, E, R>
}

/** The groups of rows, and the order of the rows. */
export interface FromArrayOptions<A, B> extends Omit<Epochs.Options, "batchSize"> {
  /** Groups in a batch, one per row; the last batch of an epoch may have fewer. */
  readonly groupsPerBatch: number
  /** `index` is the row's index in the array, whatever the order. */
  readonly group: (row: A, index: number) => B
}

/** Dies where there is no batch of that index. */
export const checkIndex = (index: number, length: number): Effect.Effect<void> =>
  Epochs.checkIndex("RLDataset", index, length)

const distinct = <A>(values: ReadonlyArray<A>) => [...new Set(values)]

/** A description of the groups: their sizes, tags and keys. */
const inWords = (groups: ReadonlyArray<EnvGroupBuilder.EnvGroupBuilder<unknown, unknown>>) => {
  const tags = distinct(groups.flatMap(({ tags }) => tags)).join(", ")
  const forms = distinct(groups.flatMap(({ form }) => form ?? [])).join(", ")
  return `of ${distinct(groups.map(({ size }) => size)).join(", ")} members, tagged ${tags === "" ? "nothing" : tags}${
    forms === "" ? "" : `, ${forms}`
  }`
    + `, keys ${groups[0]?.key} to ${groups.at(-1)?.key} (${Epochs.hashOf(groups.map(({ key }) => key))})`
}

/**
 * Goes through rows of JSON values in batches, epoch by epoch. No batch mixes two epochs, so that keys stay unique within one. Builders
 * of different kinds may be mixed; their errors and requirements are joined. The fingerprint is made of the rows, their order, and the
 * keys, sizes and tags of the groups of the first rows. The first batch fails with `InvalidOption` where `groupsPerBatch` or `epochs` is
 * not a whole number from 1 on; a batch outside of `length` dies.
 *
 * @example
 * RLDataset.fromArray(rows, {
 *   groupsPerBatch: 16,
 *   shuffle: true,
 *   group: ([a, b]) => ProblemGroupBuilder.make({ key: `${a}+${b}`, size: 8, env: () => problemEnv })
 * })
 */
export function fromArray<A, B extends EnvGroupBuilder.EnvGroupBuilder<unknown, unknown>>(
  rows: ReadonlyArray<A>,
  options: FromArrayOptions<A, B>
): RLDataset<Env.Error<B> | InvalidOption, Env.Requirements<B>>
export function fromArray<A, E, R>(
  rows: ReadonlyArray<A>,
  options: FromArrayOptions<A, EnvGroupBuilder.EnvGroupBuilder<E, R>>
): RLDataset<E | InvalidOption, R> {
  const { dropRemainder = false, epochs = 1, group, groupsPerBatch, shuffle = false } = options
  const invalid = Check.broken([
    Check.option("groupsPerBatch", groupsPerBatch, Check.whole(1)),
    Check.option("epochs", epochs, Check.whole(1))
  ])
  if (invalid !== undefined) return { length: 1, fingerprint: "invalid", batch: () => Effect.fail(invalid) }
  const passes = Epochs.make("RLDataset", rows, { batchSize: groupsPerBatch, dropRemainder, epochs, shuffle })
  const first = rows.slice(0, groupsPerBatch).map(group)
  return {
    length: passes.length,
    shortBatch: passes.shortBatch,
    code: Epochs.hashOf([String(group), ...distinct(first.flatMap(({ code }) => code ?? []))]),
    fingerprint: [
      passes.fingerprint,
      `${groupsPerBatch} groups per batch${dropRemainder ? ", full batches only" : ""}`,
      inWords(first)
    ].join(", "),
    batch: (index, seed) => Effect.map(passes.batch(index, seed), (batch) => batch.map(({ at, row }) => group(row, at)))
  }
}

/** The problems of rows, their groups, and the order of the rows. */
export interface ProblemsOptions<A, E, R> extends Problems.Options, Omit<FromArrayOptions<A, never>, "group"> {
  readonly problem: (row: A, index: number) => Problems.Problem<E, R>
}

/**
 * Questions with answers, each attempted `groupSize` times. Keys are the rows' indices. A response is correct where it equals the answer,
 * unless the problem has a `check` or a `reward`.
 *
 * @example
 * RLDataset.problems(rows, {
 *   model,
 *   groupsPerBatch: 2,
 *   groupSize: 8,
 *   problem: ([a, b]) => ({ question: `What is ${a} + ${b}?`, answer: String(a + b) })
 * })
 */
export const problems = <A, E = never, R = never>(
  rows: ReadonlyArray<A>,
  { problem, ...options }: ProblemsOptions<A, E, R>
): RLDataset<E | RendererError | InvalidOption, R> =>
  fromArray(rows, {
    ...options,
    group: (row, index) => Problems.group(String(index), problem(row, index), options)
  })

/** The name of a change to a dataset, for its fingerprint. */
export interface Named {
  readonly name: string
}

/** Replaces each group. */
export const map: {
  <E, R, E2, R2>(
    f: (group: EnvGroupBuilder.EnvGroupBuilder<E, R>) => EnvGroupBuilder.EnvGroupBuilder<E2, R2>,
    options: Named
  ): (self: RLDataset<E, R>) => RLDataset<E | E2, R | R2>
  <E, R, E2, R2>(
    self: RLDataset<E, R>,
    f: (group: EnvGroupBuilder.EnvGroupBuilder<E, R>) => EnvGroupBuilder.EnvGroupBuilder<E2, R2>,
    options: Named
  ): RLDataset<E | E2, R | R2>
} = dual(
  3,
  <E, R, E2, R2>(
    self: RLDataset<E, R>,
    f: (group: EnvGroupBuilder.EnvGroupBuilder<E, R>) => EnvGroupBuilder.EnvGroupBuilder<E2, R2>,
    { name }: Named
  ): RLDataset<E | E2, R | R2> => ({
    ...self,
    fingerprint: `${self.fingerprint}, ${name}`,
    batch: (index, seed, history) => Effect.map(self.batch(index, seed, history), (groups) => groups.map(f))
  })
)

/** Keeps only the groups that `keep` accepts; batches may become shorter, and even empty. */
export const filter: {
  <E, R>(
    keep: (group: EnvGroupBuilder.EnvGroupBuilder<E, R>) => boolean,
    options: Named
  ): (self: RLDataset<E, R>) => RLDataset<E, R>
  <E, R>(
    self: RLDataset<E, R>,
    keep: (group: EnvGroupBuilder.EnvGroupBuilder<E, R>) => boolean,
    options: Named
  ): RLDataset<E, R>
} = dual(
  3,
  <E, R>(
    self: RLDataset<E, R>,
    keep: (group: EnvGroupBuilder.EnvGroupBuilder<E, R>) => boolean,
    { name }: Named
  ): RLDataset<E, R> => ({
    ...self,
    fingerprint: `${self.fingerprint}, ${name}`,
    batch: (index, seed, history) => Effect.map(self.batch(index, seed, history), (groups) => groups.filter(keep))
  })
)

/** The dataset with services that its batches and groups need. */
export const provideContext = <E, R, S>(
  self: RLDataset<E, R>,
  services: Context.Context<S>
): RLDataset<E, Exclude<R, S>> => ({
  ...self,
  batch: (index, seed, history) =>
    Effect.map(
      Effect.provideContext(self.batch(index, seed, history), services),
      (groups) => groups.map((group) => EnvGroupBuilder.provideContext(group, services))
    )
})
