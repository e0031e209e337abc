/** A recipe as a user would write it. */
import { RLDataset, Setting } from "@effect-rl/core"
import { Recipe, TrainingSettings } from "@effect-rl/recipes"
import { Schema } from "effect"

const capitals = [["France", "Paris"], ["Japan", "Tokyo"], ["Kenya", "Nairobi"], ["Peru", "Lima"]] as const

export default Recipe.make({
  name: "capitals",
  description: "Capitals of countries",
  settings: Schema.Struct({
    ...TrainingSettings.fields({
      model: "effect-rl/tiny-64",
      iterations: 2,
      groupsPerBatch: 2,
      groupSize: 2,
      learningRate: 1e-4,
      maxTokens: 16,
      evalEvery: 0
    }),
    longest: Setting.int({ default: 40, least: 1, unit: "characters", help: "Longest right answer", identity: true })
  }),
  build: (model, settings) =>
    Recipe.task({
      options: {
        ...TrainingSettings.options(model, settings),
        dataset: RLDataset.problems(capitals, {
          model,
          groupsPerBatch: settings.groupsPerBatch,
          groupSize: settings.groupSize,
          problem: ([country, capital]) => ({
            question: `What is the capital of ${country}?`,
            answer: capital,
            check: (text) => text.length <= settings.longest && text.includes(capital)
          })
        })
      }
    })
})
