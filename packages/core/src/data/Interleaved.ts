/** Combines several datasets into one, whose groups are drawn from them in proportion to given weights. */
import * as Effect from "effect/Effect"
import type { EnvGroupBuilder } from "../env/EnvGroupBuilder.ts"
import * as Check from "../settings/Check.ts"
import { InvalidOption } from "../settings/InvalidOption.ts"
import * as BatchSettings from "./BatchSettings.ts"
import * as Epochs from "./Epochs.ts"
import * as History from "./History.ts"
import * as Order from "./InterleavedOrder.ts"
import * as RLDataset from "./RLDataset.ts"

/** A dataset and its weight. */
export interface Source<out E = never, out R = never> {
  /** The name of the source, unique among the sources. The name and a slash precede the keys of the source's groups. */
  readonly name: string
  readonly dataset: RLDataset.RLDataset<E, R>
  /** The source's weight. The sources' groups are drawn in proportion to their weights. */
  readonly weight: number
}

type Error<S> = [S] extends [Source<infer E, infer _R>] ? E : never
type Requirements<S> = [S] extends [Source<infer _E, infer R>] ? R : never

/** The size and the number of the interleaved batches. */
export interface Options extends Pick<BatchSettings.BatchSettings, "groupsPerBatch"> {
  /** The number of batches. Default: about as many as fit before the first source is used up, at least 1. */
  readonly batches?: number
}

const fail = (field: string, found: unknown, expected: string) =>
  Effect.fail(new InvalidOption({ field, found: String(found), expected }))

/** A source with its number of groups. */
interface Measured<E, R> extends Source<E, R>, Order.Pool {
  readonly groupsPerBatch: number
}

type Groups<E, R> = ReadonlyArray<EnvGroupBuilder<E, R>>

/** Maximum number of groups in a source and of slots in all batches. The order keeps one number in memory for each of them. */
const mostGroups = 2 ** 24

const isCount = (value: number) => Number.isSafeInteger(value) && value >= 1

/** Computes the number of groups from the first and the last batch: all batches but the last have the same size. */
const measure = Effect.fnUntraced(function*<E, R>(source: Source<E, R>) {
  const { dataset, name, weight } = source
  if (!(Number.isFinite(weight) && weight > 0)) {
    return yield* fail(`weight of "${name}"`, weight, "a number above 0")
  }
  if (dataset.length < 1) return yield* fail(`length of "${name}"`, dataset.length, "at least one batch")
  const first = (yield* dataset.batch(0, 0)).length
  if (first < 1) return yield* fail(`batch 0 of "${name}"`, "empty", "at least one group")
  const last = dataset.length === 1 ? first : (yield* dataset.batch(dataset.length - 1, 0)).length
  if (last > first) return yield* fail(`last batch of "${name}"`, `${last} groups`, `at most ${first}, as batch 0 has`)
  const groups = (dataset.length - 1) * first + last
  if (groups > mostGroups) return yield* fail(`groups of "${name}"`, groups, `at most ${mostGroups}`)
  return { ...source, groupsPerBatch: first, groups }
})

const checkNames = (sources: ReadonlyArray<Source<unknown, unknown>>) => {
  const names = sources.map(({ name }) => name)
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  return repeated === undefined ? Effect.void : fail("name", `"${repeated}" twice`, "a name of its own for each source")
}

/** The number of batches until the first source is used up, if groups were drawn exactly in proportion to the weights. */
const naturalLength = (pools: ReadonlyArray<Order.Pool>, groupsPerBatch: number) => {
  const sum = pools.reduce((sum, { weight }) => sum + weight, 0)
  const batches = pools.map(({ groups, weight }) => Math.trunc(groups / ((weight / sum) * groupsPerBatch)))
  return Math.max(1, Math.min(...batches))
}

/** Makes the keys unique within a batch, because a small source may repeat in it. */
const named = <E, R>(groups: Groups<E, R>): Groups<E, R> => {
  const counts = new Map<string, number>()
  return groups.map((group) => {
    const count = (counts.get(group.key) ?? 0) + 1
    counts.set(group.key, count)
    return count === 1 ? group : { ...group, key: `${group.key}#${count}` }
  })
}

/** Reads the sources for one interleaved batch, and requests each source batch only once. */
const reader = <E, R>(seed: number, history: History.History) => {
  const read = new Map<string, Groups<E, R>>()
  const batchOf = Effect.fnUntraced(function*(
    { dataset, name }: Measured<E, R>,
    batch: number
  ): Effect.fn.Return<Groups<E, R>, E, R> {
    const id = `${batch} ${name}`
    const before = read.get(id)
    if (before !== undefined) return before
    const seen = dataset.readsHistory === true ? History.below(history, `${name}/`) : History.empty
    const groups = yield* dataset.batch(batch, seed, seen)
    read.set(id, groups)
    return groups
  })
  return Effect.fnUntraced(function*(source: Measured<E, R>, at: number) {
    const { groupsPerBatch, name } = source
    const batch = Math.floor(at / groupsPerBatch)
    const groups = yield* batchOf(source, batch)
    const group = groups[at % groupsPerBatch]
    if (group !== undefined) return { ...group, key: `${name}/${group.key}` }
    return yield* fail(
      `batch ${batch} of "${name}"`,
      `${groups.length} groups`,
      `${groupsPerBatch}: only the last batch of a source may be shorter than its first`
    )
  })
}

interface Shape {
  readonly length: number
  readonly groupsPerBatch: number
}

const interleave = <E, R>(
  pools: ReadonlyArray<Measured<E, R>>,
  { groupsPerBatch, length }: Shape
): RLDataset.RLDataset<E | InvalidOption, R> => {
  const scheduled = Order.remembered(pools, length * groupsPerBatch)
  const shares = pools.map(({ dataset, groups, name, weight }) =>
    `${name} ${weight} of ${groups} ${dataset.fingerprint}`
  )
  return {
    length,
    code: Epochs.hashOf(pools.map(({ dataset }) => dataset.code)),
    fingerprint: `interleaved seeded by ${groupsPerBatch}: ${shares.join("; ")}`,
    readsHistory: pools.some(({ dataset }) => dataset.readsHistory === true),
    batch: Effect.fnUntraced(function*(index, seed, history = History.empty) {
      yield* RLDataset.checkIndex(index, length)
      const { groupS, sourceS } = scheduled(seed)
      const read = reader<E, R>(seed, history)
      const slots = Array.from({ length: groupsPerBatch }, (_, slot) => index * groupsPerBatch + slot)
      const groups = yield* Effect.forEach(slots, (slot) => {
        const source = pools[sourceS[slot] ?? 0]
        return source === undefined
          ? Effect.die(new Error(`no source for slot ${slot}`))
          : read(source, groupS[slot] ?? 0)
      })
      return named(groups)
    })
  }
}

/**
 * Draws each group from a source chosen by weight. Each source is shuffled, and all its groups are used before any repeats. The first and
 * the last batch of each source are read to count its groups; only the last batch may be shorter than the others. Fails with
 * `InvalidOption` if an option or a source is invalid. A batch fails with it if a source's batch has fewer groups than were counted.
 *
 * @example
 * const mixed = Interleaved.make(
 *   [{ name: "sums", dataset, weight: 3 }, { name: "games", dataset, weight: 1 }],
 *   { groupsPerBatch: 16 }
 * )
 *
 * @see tinker-cookbook `InterleavedRLDatasetBuilder`
 */
export function make<S extends Source<unknown, unknown>>(
  sources: ReadonlyArray<S>,
  options: Options
): Effect.Effect<
  RLDataset.RLDataset<Error<S> | InvalidOption, Requirements<S>>,
  Error<S> | InvalidOption,
  Requirements<S>
>
export function make<E, R>(sources: ReadonlyArray<Source<E, R>>, options: Options) {
  return Effect.gen(function*() {
    const { groupsPerBatch } = options
    if (sources.length === 0) return yield* fail("sources", "empty", "at least one")
    yield* Check.all(...BatchSettings.checks(options))
    yield* checkNames(sources)
    const pools = yield* Effect.forEach(sources, measure)
    const length = options.batches ?? naturalLength(pools, groupsPerBatch)
    const most = Math.floor(mostGroups / groupsPerBatch)
    if (!isCount(length) || length > most) {
      return yield* fail("batches", length, `a whole number from 1 to ${most}`)
    }
    return interleave(pools, { length, groupsPerBatch })
  })
}
