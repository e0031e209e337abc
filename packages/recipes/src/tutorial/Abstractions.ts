/** Upstream's tutorial on the cookbook's abstractions: eight word problems, two per step. */
import { ProblemGroupBuilder, RLDataset } from "@effect-rl/core"
import * as Arr from "effect/Array"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as BoxedProblems from "../math/BoxedProblems.ts"
import * as MathEnv from "../math/MathEnv.ts"
import * as Recipe from "../Recipe.ts"
import * as TrainingSettings from "../TrainingSettings.ts"

export interface Problem {
  readonly problem: string
  readonly answer: string
}

export const problems: ReadonlyArray<Problem> = [
  { problem: "What is 15 * 23?", answer: "345" },
  { problem: "If a train travels 60 miles in 2 hours, what is its speed in mph?", answer: "30" },
  { problem: "A store has 48 apples. It sells 3/4 of them. How many are left?", answer: "12" },
  { problem: "What is 144 / 12?", answer: "12" },
  { problem: "A rectangle has length 8 and width 5. What is its area?", answer: "40" },
  { problem: "What is 7 * 8 + 6?", answer: "62" },
  { problem: "If you have 100 dollars and spend 37, how much do you have left?", answer: "63" },
  { problem: "What is 25% of 200?", answer: "50" }
]

const settings = Schema.Struct(TrainingSettings.fields({
  model: "Qwen/Qwen3.5-4B",
  iterations: 4,
  groupsPerBatch: 2,
  groupSize: 4,
  learningRate: 4.91e-4,
  maxTokens: 512,
  evalEvery: 0
}))

/**
 * @see tinker-cookbook `tutorials/301_cookbook_abstractions.py`
 *
 * @example
 * const task = Abstractions.abstractions.configure({ iterations: 3 }).pipe(Effect.flatMap(({ build }) => build(model)))
 */
export const abstractions = Recipe.make({
  name: "abstractions",
  description: "Eight word problems from upstream's tutorial, two per step",
  onEngine: BoxedProblems.onEngine,
  settings,
  build: (model, settings) =>
    Recipe.task({
      answerTo: (prompt) =>
        Option.map(Arr.findLast(problems, ({ problem }) => prompt.includes(problem)), ({ answer }) => answer),
      options: {
        ...TrainingSettings.options(model, settings),
        dataset: RLDataset.fromArray(problems, {
          groupsPerBatch: settings.groupsPerBatch,
          epochs: Math.max(1, Math.ceil(settings.iterations / Math.ceil(problems.length / settings.groupsPerBatch))),
          group: ({ answer, problem }, index) =>
            ProblemGroupBuilder.make({
              key: String(index),
              size: settings.groupSize,
              env: () => MathEnv.make({ model, problem, answer, prefix: MathEnv.strawberry })
            })
        })
      }
    })
})
