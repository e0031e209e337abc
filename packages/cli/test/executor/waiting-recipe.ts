/** Addition problems whose environments wait before they respond, as environments that call a service do. */
import { Evaluator, ProblemEnv, ProblemGroupBuilder, RLDataset } from "@effect-rl/core"
import { Recipe, TrainingSettings } from "@effect-rl/recipes"
import { Effect, Schema } from "effect"

const sums = [[12, 34], [5, 71], [40, 8], [63, 22], [17, 17], [90, 3], [31, 9], [28, 55]] as const

export default Recipe.make({
  name: "waiting-sums",
  description: "Sums whose environments wait",
  settings: Schema.Struct(TrainingSettings.fields({
    model: "effect-rl/tiny-64",
    iterations: 4,
    groupsPerBatch: 4,
    groupSize: 4,
    learningRate: 1e-3,
    maxTokens: 24,
    evalEvery: 4
  })),
  build: (model, settings) => {
    const group = (size: number) => ([left, right]: typeof sums[number]) =>
      ProblemGroupBuilder.make({
        key: `${left}+${right}`,
        size,
        env: () =>
          ProblemEnv.make({
            model,
            question: `What is ${left} + ${right}? Write your answer in \\boxed{} format.`,
            referenceAnswer: String(left + right),
            checkAnswer: (text) => Effect.as(Effect.sleep("300 millis"), text.includes(`\\boxed{${left + right}}`))
          })
      })
    const options = TrainingSettings.options(model, settings)
    return Recipe.task({
      options: {
        ...options,
        dataset: RLDataset.fromArray(sums, {
          groupsPerBatch: settings.groupsPerBatch,
          epochs: settings.iterations,
          group: group(settings.groupSize)
        }),
        run: {
          ...options.run,
          evaluators: [Evaluator.testSet({ name: "held_out", groups: sums.map(group(1)), maxTokens: 24 })]
        }
      }
    })
  }
})
