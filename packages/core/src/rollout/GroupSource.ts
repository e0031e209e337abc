/**
 * Names the program that groups come from, for executors. A worker with the same program finds each group in its dataset or test sets.
 *
 * @example
 * const source = { task: "my-program", program: { settings: { digits: 2 } } }
 * const sent = Stream.runDrain(Rl.run({ model, dataset })).pipe(Effect.provideService(GroupSource.GroupSource, source))
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { RLDataset } from "../data/RLDataset.ts"
import type { EnvGroupBuilder } from "../env/EnvGroupBuilder.ts"
import { InvalidOption } from "../settings/InvalidOption.ts"

/** Identifies a group by its key, within a dataset batch (the dataset is identified by its fingerprint) or an evaluator's test set. */
export const Place = Schema.Union([
  Schema.TaggedStruct("Batch", {
    dataset: Schema.String,
    index: Schema.Int,
    seed: Schema.Int,
    key: Schema.String
  }),
  Schema.TaggedStruct("TestSet", { evaluator: Schema.String, key: Schema.String })
])
export type Place = typeof Place.Type

/** The task payload that a worker receives for a group. */
export const Payload = Schema.Struct({ program: Schema.Json, place: Place })
export type Payload = typeof Payload.Type

export interface Source {
  /** The name of the worker's task for programs of this kind. */
  readonly task: string
  /** The data from which that task rebuilds the program. */
  readonly program: Schema.Json
}

/** The current program. By default it is undefined, and only groups made by a `RolloutTask` can be sent. */
export const GroupSource = Context.Reference<Source | undefined>("@effect-rl/core/rollout/GroupSource", {
  defaultValue: () => undefined
})

type Builders<E, R> = ReadonlyArray<EnvGroupBuilder<E, R>>

const placed = <E, R>(
  builders: Builders<E, R>,
  taskOf: (source: Source, key: string) => NonNullable<EnvGroupBuilder["task"]>
) =>
  Effect.map(GroupSource, (source): Builders<E, R> =>
    source === undefined
      ? builders
      : builders.map((builder) => {
        if (builder.task !== undefined) return builder
        return { ...builder, task: taskOf(source, builder.key) }
      }))

const describe = ({ program, task }: Source, place: Place) =>
  Result.succeed({ name: task, payload: { program, place } satisfies Payload })

/** A batch of a dataset. */
interface Batch extends Pick<RLDataset, "fingerprint" | "readsHistory"> {
  readonly index: number
  readonly seed: number
}

/**
 * Gives each group of a batch a task with its place, so it can be sent to a worker. Groups that have a task keep it. A dataset that reads
 * the run's history cannot be sent.
 */
export const batch = <E, R>(
  builders: Builders<E, R>,
  { fingerprint: dataset, index, readsHistory, seed }: Batch
): Effect.Effect<Builders<E, R>> =>
  placed(builders, (source, key) =>
    readsHistory === true
      ? Result.fail(
        new InvalidOption({
          field: "dataset",
          found: "groups that depend on earlier results of the run",
          expected: "a dataset without a history, because workers have none"
        })
      )
      : describe(source, { _tag: "Batch", dataset, index, seed, key }))

/** Gives each group of an evaluator a task with its place, so it can be sent to a worker. Groups that have a task keep it. */
export const testSet = <E, R>(evaluator: string, builders: Builders<E, R>): Effect.Effect<Builders<E, R>> =>
  placed(builders, (source, key) => describe(source, { _tag: "TestSet", evaluator, key }))
