/** Batches of groups for rollouts. */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type { RendererError } from "../chat/Renderer.ts"
import type * as Env from "../env/Env.ts"
import * as EnvGroupBuilder from "../env/EnvGroupBuilder.ts"
import * as Check from "../settings/Check.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as BatchSettings from "./BatchSettings.ts"
import * as Epochs from "./Epochs.ts"
import type { History } from "./History.ts"
import * as Problems from "./Problems.ts"

/**
 * A dataset of `length` batches. `batch(i, seed, history)` must be a pure function of its arguments, because a resumed run calls it again.
 * The fingerprint identifies the data, their order and the composition of the groups, but not the number of batches. A resumed run checks
 * that it has not changed.
 *
 * @see tinker-cookbook `RLDataset`
 */
export interface RLDataset<out E = never, out R = never> {
  readonly length: number
  readonly fingerprint: string
  /** A batch that is smaller than the others because the rows of an epoch do not fill it. */
  readonly shortBatch?: Epochs.ShortBatch | undefined
  /** A hash of the source text of the functions that make and grade the groups. A resumed run warns if it has changed. */
  readonly code?: string
  /** Whether batches depend on the results of earlier ones. If not, no history is kept. */
  readonly readsHistory?: boolean
  /** The groups of a batch. `history` covers the iterations before `index`. Default: empty. */
  readonly batch: (
    index: number,
    seed: number,
    history?: History
  ) => Effect.Effect<ReadonlyArray<EnvGroupBuilder.EnvGroupBuilder<E, R>>, E, R>
}

/** The function that makes a group from a row, the batch size, and the order of the rows. */
export interface FromArrayOptions<A, B>
  extends Omit<Epochs.Options, "batchSize">, Pick<BatchSettings.BatchSettings, "groupsPerBatch">
{
  /** Makes the group of a row. `index` is the row's index in the array, whatever the order of the batches. */
  readonly group: (row: A, index: number) => B
}

/** Dies if there is no batch with that index. */
export const checkIndex = (index: number, length: number): Effect.Effect<void> =>
  Epochs.checkIndex("RLDataset", index, length)

const distinct = <A>(values: ReadonlyArray<A>) => [...new Set(values)]

/** Describes the groups by their sizes, tags and keys. */
const inWords = (groups: ReadonlyArray<EnvGroupBuilder.EnvGroupBuilder<unknown, unknown>>) => {
  const tags = distinct(groups.flatMap(({ tags }) => tags)).join(", ")
  const forms = distinct(groups.flatMap(({ form }) => form ?? [])).join(", ")
  return `of ${distinct(groups.map(({ size }) => size)).join(", ")} members, tagged ${tags === "" ? "nothing" : tags}${
    forms === "" ? "" : `, ${forms}`
  }`
    + `, keys ${groups[0]?.key} to ${groups.at(-1)?.key} (${Epochs.hashOf(groups.map(({ key }) => key))})`
}

/**
 * Batches of groups made from rows of JSON values, epoch by epoch. A batch never contains rows of two epochs, so keys stay unique within
 * it. Builders of different kinds may be mixed; the dataset has the union of their errors and requirements. The fingerprint covers the
 * rows, their order, the batch size, and the keys, sizes, tags and forms of the first batch's groups. The first batch fails with
 * `InvalidOption` if `groupsPerBatch` or `epochs` is not an integer ≥ 1. A batch index out of range dies.
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
    ...BatchSettings.checks(options),
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

/** The function that makes a problem from a row, the options of its group, and the order of the rows. */
export interface ProblemsOptions<A, E, R> extends Problems.Options, Omit<FromArrayOptions<A, never>, "group"> {
  /** A row's question and the check of its answers. */
  readonly problem: (row: A, index: number) => Problems.Problem<E, R>
}

/**
 * Questions with answers, each attempted `groupSize` times. The row indices are the keys. A response is correct if it equals the answer
 * apart from surrounding white space, unless the problem has a `check` or a `reward`.
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

/** The name of a change to a dataset. It becomes part of the dataset's fingerprint. */
export interface Named {
  readonly name: string
}

/** Replaces each group by the result of `f`. The change's name is added to the fingerprint. */
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

/** Keeps only the groups that `keep` accepts. Batches may become shorter or empty. The filter's name is added to the fingerprint. */
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

/** Provides the services that the batches and groups of a dataset need. */
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
