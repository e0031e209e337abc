/** Reinforcement learning recipes on sums. */
import { type ChatModel, Evaluator, ProblemGroupBuilder, Setting } from "@effect-rl/core"
import { RunOptions } from "@effect-rl/core/program"
import * as Schema from "effect/Schema"
import * as Recipe from "../Recipe.ts"
import * as TrainingSettings from "../TrainingSettings.ts"
import * as Sums from "./Sums.ts"

/** The task of answering sums of one kind. */
const task = (
  model: ChatModel.ChatModel,
  settings: TrainingSettings.TrainingSettings,
  kind: Sums.Kind,
  evaluators: ReadonlyArray<ReturnType<typeof Sums.evaluator>> = []
) => {
  const options = TrainingSettings.options(model, settings)
  return Recipe.task({
    answerTo: Sums.answerTo,
    options: {
      ...options,
      dataset: Sums.dataset(kind, { ...settings, model, batches: settings.iterations }),
      run: { ...options.run, evaluators }
    }
  })
}

/** Sums with boxed answers. Evaluates the held-out problems twice: sampled at temperature 1, and with greedy decoding. */
export const arithmetic = Recipe.make({
  name: "arithmetic",
  description: "Sums of two numbers below 100, with boxed answers; evaluated on 512 held-out problems",
  settings: Schema.Struct(TrainingSettings.fields({
    model: "effect-rl/tiny-128",
    iterations: 25,
    groupsPerBatch: 32,
    groupSize: 8,
    learningRate: 1e-3,
    maxTokens: 40,
    evalEvery: 25
  })),
  build: (model, settings) => {
    const { maxTokens } = settings
    return task(model, settings, Sums.boxed, [
      Sums.evaluator(model, maxTokens),
      Evaluator.testSet({ name: "held_out_greedy", groups: Sums.heldOut(model), maxTokens, temperature: 0 })
    ])
  }
})

/**
 * Sums of two numbers up to 100, the cookbook's first recipe. A few steps show whether training works.
 *
 * @see tinker-cookbook `recipes/math_rl`, env "arithmetic"
 */
export const plainArithmetic = Recipe.make({
  name: "plain-arithmetic",
  description:
    "Sums of two numbers up to 100 after one worked example, graded by the last number; the cookbook's problems in order",
  settings: Schema.Struct(TrainingSettings.fields({
    model: "effect-rl/tiny-128",
    iterations: 100,
    groupsPerBatch: 100,
    groupSize: 4,
    learningRate: 1e-3,
    maxTokens: 5,
    evalEvery: 0
  })),
  build: (model, settings) => task(model, settings, Sums.plain)
})

/**
 * Trains a pretrained language model on sums below 100. It answers most of them wrongly at first, and learns them
 * within half an hour on two cores.
 */
export const smolLm2Sums = Recipe.make({
  name: "smollm2-sums",
  description:
    "Sums of two numbers below 100 for SmolLM2, graded by the last number; evaluated on 200 held-out problems",
  onEngine: {
    says:
      "SmolLM2 is not installed (npm run smollm2 fetches it); a tiny model shows how the recipe works, but will not learn",
    settings: { model: "effect-rl/tiny-128" },
    withSmolLm2: { says: "30 iterations take about half an hour on two cores", settings: { model: "smollm2" } }
  },
  settings: Schema.Struct({
    ...TrainingSettings.fields({
      model: "smollm2",
      iterations: 30,
      groupsPerBatch: 16,
      groupSize: 8,
      learningRate: 3e-4,
      maxTokens: 24,
      evalEvery: 15
    }),
    loraRank: Setting.withDefault(RunOptions.LoraSettings.fields.rank, 8)
  }),
  build: (model, settings) => {
    const groups = Sums.heldOutPairs.slice(0, 200).map(([a, b], place) =>
      ProblemGroupBuilder.make({ key: `${place}/${a}+${b}`, size: 1, env: () => Sums.unboxed.env(model, a, b) })
    )
    const { maxTokens } = settings
    return task(model, settings, Sums.unboxed, [
      Evaluator.testSet({ name: "held_out_greedy", groups, maxTokens, temperature: 0 })
    ])
  }
})
