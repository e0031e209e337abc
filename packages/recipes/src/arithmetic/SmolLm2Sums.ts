/** Sums for SmolLM2: a real language model that answers most of them wrongly, and learns them within half an hour on two cores. */
import { type ChatModel, Evaluator, ProblemEnv, ProblemGroupBuilder, Setting } from "@effect-rl/core"
import { Seed } from "@effect-rl/core/environments"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Recipe from "../Recipe.ts"
import * as TrainingSettings from "../TrainingSettings.ts"
import * as AdditionDataset from "./AdditionDataset.ts"
import * as HeldOutPairs from "./HeldOutPairs.ts"

const question = /Calculate (\d+) \+ (\d+)\./g

const env = (model: Pick<ChatModel.ChatModel, "renderer">, a: number, b: number) =>
  ProblemEnv.make({
    model,
    question: `Calculate ${a} + ${b}.`,
    referenceAnswer: String(a + b),
    checkAnswer: (response) => Number(response.match(/\d+/g)?.at(-1) ?? NaN) === a + b
  })

/** Pairs of numbers below 100 that are not held out, drawn anew for each batch. */
const pairs = (batch: number, count: number, seed: number): ReadonlyArray<readonly [a: number, b: number]> => {
  const next = Seed.uniform(Seed.derive(seed, "SmolLm2", batch))
  const drawn: Array<readonly [number, number]> = []
  while (drawn.length < count) {
    const [a, b] = [Math.floor(next() * 100), Math.floor(next() * 100)]
    if (!HeldOutPairs.isHeldOut(a, b)) drawn.push([a, b])
  }
  return drawn
}

const settings = Schema.Struct({
  ...TrainingSettings.fields({
    model: "smollm2",
    iterations: 30,
    groupsPerBatch: 16,
    groupSize: 8,
    learningRate: 3e-4,
    maxTokens: 24,
    evalEvery: 15
  }),
  loraRank: Setting.int({ least: 1, default: 8, unit: "dimensions", help: "Rank of the adapter", identity: true })
})

const heldOut = 200

export const smolLm2Sums = Recipe.make({
  name: "smollm2-sums",
  description: "Sums of two numbers below 100 for SmolLM2, the last number counts; evaluated on 200 held-out problems",
  onEngine: {
    says:
      "SmolLM2 is not here, which npm run smollm2 fetches; a tiny model shows how the recipe works; it will not learn",
    settings: { model: "effect-rl/tiny-128" },
    withSmolLm2: { says: "30 iterations take about half an hour on two cores", settings: { model: "smollm2" } }
  },
  settings,
  build: (model, settings) =>
    Effect.suspend(() => {
      const { groupSize, groupsPerBatch, iterations, maxTokens } = settings
      const options = TrainingSettings.options(model, settings)
      const groups = HeldOutPairs.heldOutPairs.slice(0, heldOut).map(([a, b], place) =>
        ProblemGroupBuilder.make({ key: `${place}/${a}+${b}`, size: 1, env: () => env(model, a, b) })
      )
      return Recipe.task({
        answerTo: (prompt) =>
          Option.map(
            Option.fromUndefinedOr([...prompt.matchAll(question)].at(-1)),
            ([, a, b]) => String(Number(a) + Number(b))
          ),
        options: {
          ...options,
          dataset: AdditionDataset.make({ name: "smollm2-sums", env, pairs }, {
            model,
            batches: iterations,
            groupsPerBatch,
            groupSize
          }),
          run: {
            ...options.run,
            evaluators: [Evaluator.testSet({ name: "held_out_greedy", groups, maxTokens, temperature: 0 })]
          }
        }
      })
    })
})
