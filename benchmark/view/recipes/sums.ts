/** The sums of `train arithmetic` with another grader during training. Held-out answers are graded correctly. */
import { Evaluator, ProblemGroupBuilder } from "@effect-rl/core"
import { Recipe, Sums, TrainingSettings } from "@effect-rl/recipes"
import { Schema } from "effect"
import * as Plans from "../../verdicts/Plans.ts"

/** Number of held-out problems in an evaluation. */
const problems = 256

/** The recipe with the given grader, which is created again for each run. */
export const graded = (name: string, description: string, grader: () => Plans.Grader) =>
  Recipe.make({
    name,
    description,
    settings: Schema.Struct(TrainingSettings.fields({
      model: "effect-rl/tiny-64",
      iterations: 16,
      groupsPerBatch: 8,
      groupSize: 8,
      maxTokens: 40,
      learningRate: 1e-3,
      evalEvery: 8
    })),
    build: (model, settings) => {
      const { run, ...options } = TrainingSettings.options(model, settings)
      const kind = { ...Sums.boxed, env: Plans.env(grader()) }
      const dataset = Sums.dataset(kind, { ...settings, model, batches: settings.iterations })
      const groups = Sums.heldOutPairs.slice(0, problems).map(([a, b], index) =>
        ProblemGroupBuilder.make({ key: `${index}/${a}+${b}`, size: 1, env: () => Sums.boxed.env(model, a, b) })
      )
      const evaluators = [Evaluator.testSet({ name: "held_out", groups, maxTokens: settings.maxTokens })]
      return Recipe.task({ options: { ...options, dataset, run: { ...run, evaluators } } })
    }
  })
