/** A user's own pipeline: supervised training, then reinforcement learning close to the result. */
import { RunRecord, Setting } from "@effect-rl/core"
import { Pipeline, Recipes } from "@effect-rl/recipes"
import { Effect, Schema, Stream } from "effect"

/** If HOLD is set in the environment, the run waits after two iterations, so a test can interrupt it there. */
const imitation: typeof Recipes.supervised = process.env["HOLD"] === undefined ? Recipes.supervised : {
  ...Recipes.supervised,
  configure: (given) =>
    Effect.map(Recipes.supervised.configure(given), ({ build, ...configured }) => ({
      ...configured,
      build: (model) =>
        Effect.map(build(model), (task) => ({
          ...task,
          run: Stream.tap(
            task.run,
            (record) => RunRecord.guards.Updated(record) && record.iteration === 2 ? Effect.never : Effect.void
          )
        }))
    }))
}

export default Pipeline.make({
  name: "imitate-then-reward",
  description: "Supervised training, then reinforcement learning near it",
  settings: Schema.Struct({
    model: Setting.text({ default: "effect-rl/tiny-64", help: "Base model" }),
    seed: Setting.int({ default: 0, least: 0, help: "Decides everything random" })
  }),
  stages: ({ model, seed }) => [
    {
      name: "imitate",
      recipe: imitation,
      settings: () => ({ model, seed, iterations: 6, batchSize: 4, maxTokens: 1, evalEvery: 6 })
    },
    {
      name: "reward",
      recipe: Recipes.arithmetic,
      settings: (of) => ({
        model,
        seed,
        iterations: 2,
        groupsPerBatch: 2,
        groupSize: 4,
        maxTokens: 8,
        evalEvery: 0,
        loadCheckpointPath: of("imitate").statePath,
        klCoefficient: 0.05
      })
    }
  ]
})
