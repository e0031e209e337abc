/** A recipe whose environment prints "stuck", then hangs uninterruptibly. */
import { Env, RLDataset } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { Recipe, TrainingSettings } from "@effect-rl/recipes"
import { Console, Effect, Schema } from "effect"

const stuck: Env.Env = {
  initialObservation: Effect.succeed(Env.prompt(ModelInput.fromTokens([40, 41, 42]), [])),
  step: () => Effect.uninterruptible(Effect.andThen(Console.log("stuck"), Effect.never))
}

export default Recipe.make({
  name: "stuck",
  description: "Never ends",
  settings: Schema.Struct(TrainingSettings.fields({
    model: "effect-rl/tiny-64",
    iterations: 2,
    groupsPerBatch: 1,
    groupSize: 1,
    learningRate: 1e-4,
    maxTokens: 2,
    evalEvery: 0
  })),
  build: (model, settings) =>
    Recipe.task({
      options: {
        ...TrainingSettings.options(model, settings),
        dataset: RLDataset.fromArray(["one", "two"], {
          groupsPerBatch: 1,
          group: (key) => ({ key, size: 1, tags: [], open: Effect.succeed({ makeEnv: () => Effect.succeed(stuck) }) })
        })
      }
    })
})
