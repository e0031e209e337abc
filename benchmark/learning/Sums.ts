/** Trains tiny-64 on sums with given settings, and measures the reward and the correct held-out answers. */
import {
  ChatModel,
  type Credit,
  Evaluator,
  type InvalidOption,
  Rl,
  type RLDataset,
  RunRecord,
  RunStore,
  Setting,
  Tinker,
  type TinkerError
} from "@effect-rl/core"
import { type SamplingClient, Weights } from "@effect-rl/core/backend"
import { Proportion } from "@effect-rl/core/evaluation"
import type { Renderer } from "@effect-rl/core/renderers"
import { Sums, TrainingSettings } from "@effect-rl/recipes"
import { Effect, Schema, Stream } from "effect"
import * as Report from "../Report.ts"

export const seeds = [0, 1, 2]
export const problems = 512
export const model = "effect-rl/tiny-64"

/** The default settings, which those of a row override. */
export const usual = { iterations: 12, groupsPerBatch: 16, groupSize: 8, maxTokens: 40, learningRate: 1e-3 }

const Settings = Schema.Struct(TrainingSettings.fields({ ...usual, model, evalEvery: 0 }))

export interface Outcome {
  readonly updates: ReadonlyArray<RunRecord.Updated>
  readonly correct: number
}

type AnyCredit = Credit.Credit<InvalidOption.InvalidOption | TinkerError.TinkerError>

/** Replaces the credit that the settings name. */
export type Change = (credit: AnyCredit, seed: number) => AnyCredit

export type Dataset = RLDataset.RLDataset<Renderer.RendererError>

/** The number of correct held-out answers of a client's weights. */
export const rightAnswersOf = Effect.fnUntraced(function*(
  chat: ChatModel.ChatModel,
  client: SamplingClient.SamplingClient
) {
  const { maxTokens } = usual
  const { score } = yield* Evaluator.testSet({ name: "held_out", groups: Sums.heldOut(chat), maxTokens })
    .evaluate(Weights.fromSamplingClient(client))
  return Math.round((score?.value ?? NaN) * problems)
})

/** The number of correct held-out answers of a checkpoint. */
export const rightAnswers = Effect.fnUntraced(function*(chat: ChatModel.ChatModel, modelPath: string) {
  const client = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ modelPath }))
  return yield* rightAnswersOf(chat, client)
}, Effect.scoped)

/** Trains with one seed, and counts the correct held-out answers afterwards. */
export const trainOne = Effect.fnUntraced(
  function*(
    settings: object,
    seed: number,
    change: Change = (credit) => credit,
    tag: (dataset: Dataset) => Dataset = (dataset) => dataset
  ) {
    const decoded = yield* Setting.decode(Settings, { ...settings, seed })
    yield* TrainingSettings.check(decoded)
    const { groupSize, groupsPerBatch, iterations: batches } = decoded
    const chat = yield* ChatModel.resolve(model)
    const { update, ...options } = TrainingSettings.options(chat, decoded)
    const records = yield* Stream.runCollect(Rl.run({
      ...options,
      dataset: tag(Sums.dataset(Sums.boxed, { model: chat, batches, groupsPerBatch, groupSize })),
      update: { ...update, credit: change(update.credit, seed) }
    }))
    const outcome: Outcome = {
      updates: records.filter(RunRecord.guards.Updated),
      correct: yield* rightAnswers(chat, records.findLast(RunRecord.guards.Saved)?.samplerPath ?? "")
    }
    Report.progress(`${JSON.stringify(settings)}, seed ${seed}: ${outcome.correct} of ${problems}`)
    return outcome
  },
  Effect.provide(RunStore.RunStore.layerMemory, { local: true })
)

/** The outcome of each seed. */
export const train = (settings: object) => Effect.forEach(seeds, (seed) => trainOne(settings, seed))

const blocks = "▁▂▃▄▅▆▇█"

/** The mean rewards over the seeds as a bar chart from 0 to 1. */
const curve = (outcomes: ReadonlyArray<Outcome>) =>
  Array.from({ length: usual.iterations }, (_, iteration) => {
    const reward = Report.mean(outcomes.map(({ updates }) => updates[iteration]?.reward?.mean ?? NaN))
    return blocks[Math.min(blocks.length - 1, Math.max(0, Math.floor(reward * blocks.length)))] ?? "–"
  }).join("")

/** The correct answers of all seeds with Wilson's interval, those of each seed, and the curve. */
export const row = (title: string, outcomes: ReadonlyArray<Outcome>): ReadonlyArray<string> => {
  const correct = Proportion.wilson(
    outcomes.reduce((sum, { correct }) => sum + correct, 0),
    outcomes.length * problems
  )
  return [
    title,
    Report.interval(correct),
    outcomes.map(({ correct }) => (correct / problems).toFixed(3)).join(", "),
    curve(outcomes)
  ]
}
