/** A recipe that accepts any answer as right. */
import { ProblemEnv, ProblemGroupBuilder, RLDataset } from "@effect-rl/core"
import { Recipe, TrainingSettings } from "@effect-rl/recipes"
import { Option, Schema } from "effect"

export default Recipe.make({
  name: "generous",
  description: "Any answer is right",
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
      answerTo: () => Option.some("7"),
      options: {
        ...TrainingSettings.options(model, settings),
        dataset: RLDataset.fromArray(["one", "two"], {
          groupsPerBatch: 2,
          group: (question) =>
            ProblemGroupBuilder.make({
              key: question,
              size: 1,
              env: () => ProblemEnv.make({ model, question, referenceAnswer: "7", checkAnswer: () => true })
            })
        })
      }
    })
})
