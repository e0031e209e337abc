/** The rollout task of a recipe for a worker. The worker builds the same task as the driver, and looks up the groups that it is sent. */
import { InvalidOption } from "@effect-rl/core"
import { GroupSource, RolloutTask } from "@effect-rl/core/program"
import * as Cache from "effect/Cache"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Recipe from "./Recipe.ts"

/** The name under which recipe groups are sent to workers. */
export const name = "effect-rl/recipe"

/** Batches kept in memory: enough for the current iteration and the iterations sampled ahead of it. */
const batches = 8

class Batch extends Data.Class<{ readonly index: number; readonly seed: number }> {}

const same = "the same recipe, settings and data as where the run is"

const missing = (place: GroupSource.Place) =>
  new InvalidOption.InvalidOption({
    field: `group "${place.key}" of ${
      place._tag === "Batch" ? `batch ${place.index}` : `evaluator "${place.evaluator}"`
    }`,
    found: "missing at the worker",
    expected: same
  })

const otherDataset = (fingerprint: string) =>
  new InvalidOption.InvalidOption({ field: "dataset", found: fingerprint, expected: same })

/**
 * A rollout task that looks up groups of a recipe's task by their batch or evaluator. A lookup fails if the worker's dataset differs from
 * the driver's or if the group is missing.
 *
 * @example
 * const worker = Effect.gen(function*() {
 *   const { build } = yield* Recipes.arithmetic.configure({})
 *   return TaskRegistry.TaskRegistry.layer(yield* RecipeTask.of(yield* build(model)))
 * })
 */
export const of = Effect.fnUntraced(function*<E, R>({ dataset: played, evaluators, trained }: Recipe.Task<E, R>) {
  const dataset = yield* trained ?? Effect.succeed(played)
  const loaded = yield* Cache.make({
    capacity: batches,
    lookup: ({ index, seed }: Batch) => dataset.batch(index, seed)
  })
  const groupsOf = (place: GroupSource.Place) =>
    place._tag === "Batch"
      ? Cache.get(loaded, new Batch({ index: place.index, seed: place.seed }))
      : Effect.succeed(evaluators.find(({ name }) => name === place.evaluator)?.groups ?? [])
  return RolloutTask.lookup(name, {
    payload: GroupSource.Payload,
    find: Effect.fnUntraced(function*({ place }) {
      if (place._tag === "Batch" && place.dataset !== dataset.fingerprint) {
        return yield* otherDataset(dataset.fingerprint)
      }
      const found = (yield* groupsOf(place)).find(({ key }) => key === place.key)
      return found ?? (yield* missing(place))
    })
  })
})
