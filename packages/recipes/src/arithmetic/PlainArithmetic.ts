/** Upstream's first recipe; a few steps are enough to see whether training works. */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Recipe from "../Recipe.ts"
import * as TrainingSettings from "../TrainingSettings.ts"
import * as PlainAddition from "./PlainAddition.ts"
import * as Sum from "./Sum.ts"

const settings = Schema.Struct(TrainingSettings.fields({
  model: "effect-rl/tiny-128",
  iterations: 100,
  groupsPerBatch: 100,
  groupSize: 4,
  learningRate: 1e-3,
  maxTokens: 5,
  evalEvery: 0
}))

/** @see tinker-cookbook `recipes/math_rl`, env "arithmetic" */
export const plainArithmetic = Recipe.make({
  name: "plain-arithmetic",
  description:
    "Sums of two numbers up to 100, one worked example, the last number counts; upstream's problems in order",
  settings,
  build: (model, settings) =>
    Recipe.task({
      answerTo: (prompt) => Option.map(Sum.ofPrompt(prompt), String),
      options: {
        ...TrainingSettings.options(model, settings),
        dataset: PlainAddition.dataset({
          model,
          batches: settings.iterations,
          groupsPerBatch: settings.groupsPerBatch,
          groupSize: settings.groupSize
        })
      }
    })
})
