/** A user's own recipe with the renderer for base models. */
import { RLDataset } from "@effect-rl/core"
import { Renderers } from "@effect-rl/core/renderers"
import { Recipe, TrainingSettings } from "@effect-rl/recipes"
import { Effect, Schema } from "effect"

export default Recipe.make({
  name: "greetings",
  description: "Greetings in plain text",
  settings: Schema.Struct(TrainingSettings.fields({
    model: "effect-rl/tiny-64",
    iterations: 1,
    groupsPerBatch: 1,
    groupSize: 2,
    learningRate: 1e-4,
    maxTokens: 8,
    evalEvery: 0
  })),
  build: Effect.fnUntraced(function*(registered, settings) {
    const model = { ...registered, renderer: yield* Renderers.byName("role_colon", registered.tokenizer) }
    const dataset = RLDataset.problems(["hello"], {
      model,
      groupsPerBatch: settings.groupsPerBatch,
      groupSize: settings.groupSize,
      problem: (question) => ({ question, answer: "hello" })
    })
    return yield* Recipe.task({ options: { ...TrainingSettings.options(model, settings), dataset } })
  })
})
