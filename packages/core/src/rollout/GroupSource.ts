/**
 * The program that groups come from, for executors: a worker that has the same program finds them again by their places in its dataset and
 * test sets.
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

/** A group by its key, in a batch of the dataset with this fingerprint or in the test set of an evaluator. */
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

/** What a worker is sent of a group. */
export const Payload = Schema.Struct({ program: Schema.Json, place: Place })
export type Payload = typeof Payload.Type

export interface Source {
  /** The name of the task that workers have for programs of its kind. */
  readonly task: string
  /** Whatever that task needs to put the program together. */
  readonly program: Schema.Json
}

/** The program under way; groups that no `RolloutTask` made cannot be sent where it is undefined. */
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

/** The groups of a batch, each with its place; those that depend on earlier results of the run have none. */
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

/** The groups of an evaluator, each with its place. */
export const testSet = <E, R>(evaluator: string, builders: Builders<E, R>): Effect.Effect<Builders<E, R>> =>
  placed(builders, (source, key) => describe(source, { _tag: "TestSet", evaluator, key }))
