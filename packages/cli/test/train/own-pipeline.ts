/** A pipeline of one's own: supervised training, then reinforcement learning near it. */
import { Setting } from "@effect-rl/core"
import { Pipeline, Recipes } from "@effect-rl/recipes"
import { Schema } from "effect"

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
      recipe: Recipes.supervised,
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
