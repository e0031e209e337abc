/** A recipe with its own service that grades answers, as a user would write it. */
import { RLDataset } from "@effect-rl/core"
import { Recipe, TrainingSettings } from "@effect-rl/recipes"
import { Console, Context, Effect, Layer, Schema } from "effect"

class Prices extends Context.Service<Prices, { readonly of: (item: string) => number }>()("own-service/Prices") {
  static readonly layer = Layer.effect(
    this,
    Effect.acquireRelease(
      Effect.as(Console.log("the shop opens"), { of: (item) => item.length }),
      () => Console.log("the shop closes")
    )
  )
}

const prices = Recipe.make({
  name: "prices",
  description: "Prices in a shop",
  settings: Schema.Struct(TrainingSettings.fields({
    model: "effect-rl/tiny-64",
    iterations: 2,
    groupsPerBatch: 2,
    groupSize: 2,
    learningRate: 1e-4,
    maxTokens: 16,
    evalEvery: 0
  })),
  build: (model, settings) =>
    Recipe.task({
      options: {
        ...TrainingSettings.options(model, settings),
        dataset: RLDataset.problems(["tea", "bread"], {
          model,
          groupsPerBatch: settings.groupsPerBatch,
          groupSize: settings.groupSize,
          problem: (item) => ({
            question: `What does ${item} cost?`,
            answer: "its price",
            check: (text) => Prices.useSync((prices) => text.includes(String(prices.of(item))))
          })
        })
      }
    })
})

export default Recipe.provide(prices, Prices.layer)
