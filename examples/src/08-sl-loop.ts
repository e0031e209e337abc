// Supervised training by hand, with clients only: train on worked sums with cross entropy and a linearly decreasing learning rate.
import { ChatModel, Loss, SupervisedDataset, Tinker } from "@effect-rl/core"
import { Nll } from "@effect-rl/core/program"
import { Engine } from "@effect-rl/engine"
import { WorkedSums } from "@effect-rl/recipes"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Array, Console, Effect } from "effect"

const steps = 10

export const program = Effect.gen(function*() {
  const tinker = yield* Tinker.Tinker
  const model = yield* ChatModel.resolve("effect-rl/tiny-64")
  const training = yield* tinker.createLoraTrainingClient({ baseModel: model.name, loraRank: 32, seed: 11 })
  const dataset = SupervisedDataset.conversations(WorkedSums.examples(), { model, batchSize: 32, shuffle: true })

  for (let step = 0; step < steps; step++) {
    const data = yield* dataset.batch(step, 11)
    if (!Array.isReadonlyArrayNonEmpty(data)) continue
    const learningRate = 1e-3 * (1 - step / steps)
    const pass = yield* training.forwardBackward(data, Loss.crossEntropy)
    const update = yield* training.optimStep({ learningRate, beta1: 0.9, beta2: 0.95 })
    const { logprobs } = yield* pass.await
    yield* update.await
    const { nll = NaN } = Nll.mean(Nll.sums(data, logprobs))
    yield* Console.log(`Step ${step} | NLL: ${nll.toFixed(4)} | learning rate: ${learningRate.toExponential(1)}`)
  }
}).pipe(Effect.scoped)

if (import.meta.main) {
  program.pipe(Effect.provide(Engine.layer), Effect.provide(NodeServices.layer), NodeRuntime.runMain)
}
