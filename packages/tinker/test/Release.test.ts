/** Our server frees everything that our client used as soon as the client is done. */
import { Loss, Tinker } from "@effect-rl/core"
import { Datum, ModelInput } from "@effect-rl/core/backend"
import { LeakAudit, Script } from "@effect-rl/core/testing"
import { TinkerHttp } from "@effect-rl/tinker"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { FetchHttpClient, HttpServer } from "effect/http"
import * as Api from "./server/Api.ts"

const held = Effect.flatMap(LeakAudit.LeakAudit, ({ counts }) => Effect.map(counts, LeakAudit.live))

const datum = Datum.weightedTokens(ModelInput.fromTokens([1, 2]), {
  targetTokens: Int32Array.of(2, 3),
  weights: Float32Array.of(0, 1)
})

/** Trains and samples step by step, and reports what the server holds after each step. */
const steps = Effect.gen(function*() {
  const { createLoraTrainingClient } = yield* Tinker.Tinker
  const client = yield* createLoraTrainingClient({ baseModel: Script.defaultModel, loraRank: 4 })
  return yield* Effect.forEach([1, 2, 3], () =>
    Effect.gen(function*() {
      const sampler = yield* client.saveWeightsAndGetSamplingClient
      yield* sampler.sample({ prompt: ModelInput.fromTokens([1]), params: { maxTokens: 2 } })
      yield* client.forwardBackward([datum], Loss.crossEntropy)
      yield* Effect.flatMap(client.optimStep({ learningRate: 1e-3 }), (pending) => pending.await)
    }).pipe(Effect.scoped, Effect.andThen(held)))
})

describe("a client of our server", () => {
  layer(Api.server(), { excludeTestServices: true })((it) => {
    it.effect("releases each snapshot with the snapshot's scope, and the model with the model's scope", () =>
      Effect.gen(function*() {
        const { address } = yield* HttpServer.HttpServer
        const service = TinkerHttp.layerOptions({
          baseUrl: HttpServer.formatAddress(address),
          apiKey: Redacted.make("tml-test")
        }).pipe(Layer.provide(FetchHttpClient.layer))
        yield* Effect.gen(function*() {
          for (const left of yield* Effect.scoped(steps)) assert.deepStrictEqual(left, { TrainingClient: 1 })
          yield* Effect.andThen(Effect.yieldNow, held).pipe(
            Effect.repeat({ until: (left) => Object.keys(left).length === 0 })
          )
        }).pipe(Effect.provide(service))
      }))
  })
})
