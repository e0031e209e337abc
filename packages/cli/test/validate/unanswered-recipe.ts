/** A recipe that gives no reference answers. */
import { RLDataset } from "@effect-rl/core"
import { Recipe, TrainingSettings } from "@effect-rl/recipes"
import { Schema } from "effect"

export default Recipe.make({
  name: "unanswered",
  description: "No reference answers",
  settings: Schema.Struct(TrainingSettings.fields({
    model: "effect-rl/tiny-64",
    iterations: 1,
    groupsPerBatch: 2,
    groupSize: 1,
    learningRate: 1e-4,
    maxTokens: 8,
    evalEvery: 0
  })),
  build: (model, settings) =>
    Recipe.task({
      options: {
        ...TrainingSettings.options(model, settings),
        dataset: RLDataset.problems([[1, 2], [3, 4]] as const, {
          model,
          groupsPerBatch: settings.groupsPerBatch,
          groupSize: settings.groupSize,
          problem: ([a, b]) => ({ question: `What is ${a} + ${b}?`, answer: `${a + b}` })
        })
      }
    })
})
