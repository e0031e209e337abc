/** Adapters after a few training steps, and a prompt's log-probabilities under models and adapters. */
import { Loss, Tinker } from "@effect-rl/core"
import { Datum, ModelInput } from "@effect-rl/core/backend"
import * as Engine from "@effect-rl/engine/Engine"
import { Effect, Path } from "effect"
import * as TestEngine from "./runtime/TestEngine.ts"

export const prompt = TestEngine.prompt(3, 20)

const datum = Datum.weightedTokens(ModelInput.fromTokens(TestEngine.tokensOf(prompt).slice(0, -1)), {
  targetTokens: Int32Array.from(TestEngine.tokensOf(prompt).slice(1)),
  weights: new Float32Array(19).fill(1)
})

/** Trains an adapter. Returns its folder, and the log-probabilities of the prompt with it. */
export const trained = Effect.fnUntraced(function*(model: string, folder: string, trainUnembed: boolean) {
  const path = yield* Path.Path
  const checkpoints = path.join(folder, "checkpoints")
  const program = Effect.gen(function*() {
    const tinker = yield* Tinker.Tinker
    const client = yield* tinker.createLoraTrainingClient({ baseModel: model, loraRank: 4, seed: 1, trainUnembed })
    for (let step = 0; step < 5; step++) {
      yield* client.forwardBackward([datum], Loss.crossEntropy)
      yield* Effect.flatMap(client.optimStep({ learningRate: 1e-2 }), (pending) => pending.await)
    }
    const { path: saved } = yield* Effect.flatMap(client.saveState("end"), (pending) => pending.await)
    const sampler = yield* client.saveWeightsAndGetSamplingClient
    const logprobs = yield* sampler.computeLogprobs(prompt)
    return { adapter: path.join(checkpoints, saved.slice("engine://".length)), logprobs }
  })
  return yield* Effect.scoped(program).pipe(
    Effect.provide(Engine.layerOptions({ checkpoints, models: [model], workers: 0 }))
  )
})

/** Log-probabilities of the prompt under a base model. */
export const scores = (model: string, folder: string) =>
  Effect.gen(function*() {
    const tinker = yield* Tinker.Tinker
    const sampler = yield* tinker.createSamplingClient({ baseModel: model })
    return yield* sampler.computeLogprobs(prompt)
  }).pipe(Effect.scoped, Effect.provide(Engine.layerOptions({ checkpoints: folder, models: [model], workers: 0 })))
