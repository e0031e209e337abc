/** Sums as `train arithmetic` asks for them, with another grader while training; held-out answers are graded rightly. */
import { Evaluator, ProblemGroupBuilder } from "@effect-rl/core"
import { Recipe, Sums, TrainingSettings } from "@effect-rl/recipes"
import { Schema } from "effect"
import * as Plans from "../../verdicts/Plans.ts"

/** Held-out problems of an evaluation. */
const problems = 256

/** The recipe of a grader, which is made anew for each run. */
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
