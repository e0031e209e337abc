/** Sums on tiny-64, trained with some settings on three seeds: what is the reward, and how many held-out answers are right. */
import { ChatModel, Evaluator, Proportion, RunRecord, RunStore, Tinker, Weights } from "@effect-rl/core"
import { BoxedAddition, Recipes } from "@effect-rl/recipes"
import { Effect, Stream } from "effect"
import * as Report from "../Report.ts"

const seeds = [0, 1, 2]
export const problems = 512
const model = "effect-rl/tiny-64"

/** What all begin with; settings of one row win. */
export const usual = { iterations: 12, groupsPerBatch: 16, groupSize: 8, maxTokens: 40, learningRate: 1e-3 }

export interface Outcome {
  readonly updates: ReadonlyArray<RunRecord.Updated>
  readonly correct: number
}

const trainOne = Effect.fnUntraced(
  function*(settings: object, seed: number) {
    const { build } = yield* Recipes.arithmetic.configure({ ...usual, model, evalEvery: 0, ...settings, seed })
    const chat = yield* ChatModel.resolve(model)
    const records = yield* Stream.runCollect((yield* build(chat)).run)
    const modelPath = records.findLast(RunRecord.guards.Saved)?.samplerPath ?? ""
    const sampler = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ modelPath }))
    const { maxTokens } = usual
    const { score } = yield* Evaluator.testSet({ name: "held_out", groups: BoxedAddition.heldOut(chat), maxTokens })
      .evaluate(Weights.fromSamplingClient(sampler))
    const outcome: Outcome = {
      updates: records.filter(RunRecord.guards.Updated),
      correct: Math.round((score?.value ?? NaN) * problems)
    }
    Report.progress(`${JSON.stringify(settings)}, seed ${seed}: ${outcome.correct} of ${problems}`)
    return outcome
  },
  Effect.scoped,
  Effect.provide(RunStore.RunStore.layerMemory, { local: true })
)

/** The outcome of each seed. */
export const train = (settings: object) => Effect.forEach(seeds, (seed) => trainOne(settings, seed))

const blocks = "▁▂▃▄▅▆▇█"

/** Mean rewards over the seeds as bars, from 0 to 1. */
const curve = (outcomes: ReadonlyArray<Outcome>) =>
  Array.from({ length: usual.iterations }, (_, iteration) => {
    const reward = Report.mean(outcomes.map(({ updates }) => updates[iteration]?.reward?.mean ?? NaN))
    return blocks[Math.min(blocks.length - 1, Math.max(0, Math.floor(reward * blocks.length)))] ?? "–"
  }).join("")

/** Right answers of all seeds with Wilson's interval, and of each; then whatever the page adds, and the curve. */
export const row = (
  title: string,
  outcomes: ReadonlyArray<Outcome>,
  ...others: ReadonlyArray<string>
): ReadonlyArray<string> => {
  const correct = Proportion.wilson(
    outcomes.reduce((sum, { correct }) => sum + correct, 0),
    outcomes.length * problems
  )
  return [
    title,
    Report.interval(correct),
    outcomes.map(({ correct }) => (correct / problems).toFixed(3)).join(", "),
    ...others,
    curve(outcomes)
  ]
}
