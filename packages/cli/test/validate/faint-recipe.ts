/** A recipe that gives right answers less than the full reward. */
import { ProblemEnv, ProblemGroupBuilder, RLDataset } from "@effect-rl/core"
import { Recipe, TrainingSettings } from "@effect-rl/recipes"
import { Option, Schema } from "effect"

export default Recipe.make({
  name: "faint",
  description: "No answer has the right form",
  settings: Schema.Struct(TrainingSettings.fields({
    model: "effect-rl/tiny-64",
    iterations: 1,
    groupsPerBatch: 1,
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
        dataset: RLDataset.fromArray(["one"], {
          groupsPerBatch: 1,
          group: (question) =>
            ProblemGroupBuilder.make({
              key: question,
              size: 1,
              env: () =>
                ProblemEnv.make({
                  model,
                  question,
                  referenceAnswer: "7",
                  checkAnswer: (answer) => answer === "7",
                  checkFormat: () => false
                })
            })
        })
      }
    })
})
