/** Trains a small model to work out sums before it answers. */
import { Evaluator } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Recipe from "../Recipe.ts"
import * as TrainingSettings from "../TrainingSettings.ts"
import * as BoxedAddition from "./BoxedAddition.ts"
import * as Sum from "./Sum.ts"

const settings = Schema.Struct(TrainingSettings.fields({
  model: "effect-rl/tiny-128",
  iterations: 25,
  groupsPerBatch: 32,
  groupSize: 8,
  learningRate: 1e-3,
  maxTokens: 40,
  evalEvery: 25
}))

/** Held-out problems are evaluated twice: sampled as in training, and with the most likely token each time. */
export const arithmetic = Recipe.make({
  name: "arithmetic",
  description: "Sums of two numbers below 100, answers in a box; evaluated on 512 held-out problems",
  settings,
  build: (model, settings) =>
    Effect.suspend(() => {
      const heldOut = { groups: BoxedAddition.heldOut(model), maxTokens: settings.maxTokens }
      const options = TrainingSettings.options(model, settings)
      return Recipe.task({
        answerTo: (prompt) => Option.map(Sum.ofPrompt(prompt), String),
        options: {
          ...options,
          dataset: BoxedAddition.dataset({
            model,
            batches: settings.iterations,
            groupsPerBatch: settings.groupsPerBatch,
            groupSize: settings.groupSize
          }),
          run: {
            ...options.run,
            evaluators: [
              Evaluator.testSet({ ...heldOut, name: "held_out" }),
              Evaluator.testSet({ ...heldOut, name: "held_out_greedy", temperature: 0 })
            ]
          }
        }
      })
    })
})
