/** Training clients and steps on texts. */
import { Loss, Tinker } from "@effect-rl/core"
import type { TrainingClient } from "@effect-rl/core/backend"
import { Array, Effect } from "effect"
import * as TestEngine from "./TestEngine.ts"

export const create = (options: Partial<Tinker.LoraOptions> = {}) =>
  Effect.flatMap(
    Tinker.Tinker,
    (tinker) => tinker.createLoraTrainingClient({ baseModel: TestEngine.model, loraRank: 8, seed: 3, ...options })
  )

export const textsOf = (count: number) =>
  Array.makeBy(count, (index) => TestEngine.textDatum(TestEngine.prompt(index, 45 + index), 1 / (1 + index)))

/** Texts that fill two micro-batches. */
export const texts = textsOf(12)

export const adam = { learningRate: 3e-3 }

/** Performs one training step and returns its metrics. */
export const step = Effect.fnUntraced(function*(client: TrainingClient.TrainingClient, data = texts) {
  const pass = yield* client.forwardBackward(data, Loss.crossEntropy)
  const optimizer = yield* client.optimStep(adam)
  const { metrics } = yield* pass.await
  return { ...metrics, ...(yield* optimizer.await).metrics }
})

/** Log-probabilities of the texts under the client's current weights. */
export const scores = (client: TrainingClient.TrainingClient) =>
  Effect.flatMap(
    client.forward(texts, Loss.crossEntropy),
    (pending) => Effect.map(pending.await, ({ logprobs }) => logprobs)
  )

/** Saves a checkpoint and returns its path. */
export const saved = Effect.fnUntraced(function*(client: TrainingClient.TrainingClient, name: string) {
  const pending = yield* client.saveState(name)
  return (yield* pending.await).path
})
