/** Inflight weights, which later ones replace for all their samplers. */
import { Loss, Tinker } from "@effect-rl/core"
import { Datum, ModelInput, type SamplingClient } from "@effect-rl/core/backend"
import { Script } from "@effect-rl/core/testing"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Client from "../Client.ts"
import * as Api from "./Api.ts"

/** Each sample's token is the number of optimizer steps that its weights have taken. */
const script: Script.Script = {
  sample: (_, { step }) => ({
    sequences: [{ tokens: Int32Array.of(step), logprobs: Float32Array.of(-0.5), stopReason: "length" }]
  })
}

const client = Layer.provide(Client.layer(), FetchHttpClient.layer)

const datum = Datum.weightedTokens(ModelInput.fromTokens([1]), {
  targetTokens: Int32Array.of(2),
  weights: Float32Array.of(1)
})

const stepOf = ({ sample }: SamplingClient.SamplingClient) =>
  Effect.map(
    sample({ prompt: ModelInput.fromTokens([1]), params: { maxTokens: 1 } }),
    ({ sequences: [sequence] }) => sequence?.tokens[0]
  )

const trained = Effect.scoped(Effect.gen(function*() {
  const tinker = yield* Tinker.Tinker
  const training = yield* tinker.createLoraTrainingClient({ baseModel: Script.defaultModel })
  const publish = training.saveInflightWeightsAndGetSamplingClient
  if (publish === undefined) return yield* Effect.die("the client publishes no weights")
  const snapshot = yield* training.saveWeightsAndGetSamplingClient
  const first = yield* publish
  const before = yield* stepOf(first)
  const pass = yield* training.forwardBackward([datum], Loss.crossEntropy)
  const step = yield* training.optimStep({ learningRate: 1e-3 })
  yield* pass.await
  yield* step.await
  const unpublished = yield* stepOf(first)
  const second = yield* publish
  return { before, unpublished, after: [yield* stepOf(snapshot), yield* stepOf(first), yield* stepOf(second)] }
}))

describe("inflight weights used by this project's client", () => {
  layer(Api.server({ script }))((it) => {
    it.effect("are replaced for all their samplers by the weights saved last, and for no other sampler", () =>
      Effect.gen(function*() {
        const steps = yield* Effect.provide(trained, client)
        assert.deepStrictEqual(steps, { before: 0, unpublished: 0, after: [0, 1, 1] })
      }))
  })
})
