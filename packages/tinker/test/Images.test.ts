/** Images sent from a client through the server to a backend. */
import { Loss, Tinker } from "@effect-rl/core"
import { Datum, ModelInput } from "@effect-rl/core/backend"
import { Call, Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import * as Engine from "@effect-rl/engine/Engine"
import { TinkerServer } from "@effect-rl/tinker"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Context, Effect, FileSystem, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Client from "./Client.ts"
import * as Sockets from "./Sockets.ts"

const folder = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())

const server = Layer.unwrap(
  Effect.map(folder, (folder) => TinkerServer.layer({ checkpoints: { folder, scheme: "test" } }))
).pipe(Layer.provide(TestTokenizer.layer()))

const between = <E>(backend: Layer.Layer<Tinker.Tinker, E>) =>
  Layer.provide(Client.layer(), Layer.provide(server, backend)).pipe(
    Layer.provide(FetchHttpClient.layer),
    Layer.provide(Sockets.layer),
    Layer.provide(NodeServices.layer)
  )

/** Provides tests with the client, and with the log of the requests that the backend received. */
const scripted = Layer.unwrap(Effect.map(Layer.build(ScriptedTinker.layer()), (backend) =>
  Layer.merge(
    between(Layer.succeedContext(backend)),
    Layer.succeed(Call.CallLog, Context.get(backend, Call.CallLog))
  )))

const image = (expectedTokens: number): ModelInput.Image => ({
  _tag: "Image",
  data: Uint8Array.from({ length: 1000 }, (_, index) => index % 256),
  format: "png",
  expectedTokens
})

const text = (...tokens: ReadonlyArray<number>) => ModelInput.fromTokens(tokens)

const prompt = (positions: number) =>
  ModelInput.fromChunks([...text(65, 66).chunks, image(positions), ...text(67).chunks])

const request = (positions: number) => ({ prompt: prompt(positions), params: { maxTokens: 2, seed: 1 } })

/** A datum that predicts B after the image. */
const datum = (positions: number) =>
  Datum.weightedTokens(prompt(positions), {
    targetTokens: Int32Array.from({ length: positions + 3 }, (_, index) => index === positions + 2 ? 66 : 0),
    weights: Float32Array.from({ length: positions + 3 }, (_, index) => index === positions + 2 ? 1 : 0)
  })

describe("an image sent by a client through the server", () => {
  layer(scripted, { excludeTestServices: true })((it) => {
    it.effect("reaches the sampler unchanged", () =>
      Effect.gen(function*() {
        const tinker = yield* Tinker.Tinker
        const sampler = yield* tinker.createSamplingClient({ baseModel: Script.defaultModel })
        yield* sampler.sample(request(4))
        const calls = yield* Effect.flatMap(Call.CallLog, (log) => log.calls)
        const sampled = calls.flatMap((call) => call._tag === "Sample" ? [call.request.prompt] : [])
        assert.deepStrictEqual(sampled, [prompt(4)])
      }))

    it.effect("reaches the trainer unchanged", () =>
      Effect.gen(function*() {
        const tinker = yield* Tinker.Tinker
        const training = yield* tinker.createLoraTrainingClient({ baseModel: Script.defaultModel })
        const output = yield* Effect.flatMap(training.forwardBackward([datum(4)], Loss.crossEntropy), (pending) =>
          pending.await)
        assert.strictEqual(output.logprobs[0]?.length, 7)
        const calls = yield* Effect.flatMap(Call.CallLog, (log) =>
          log.calls)
        const trained = calls.flatMap((call) => call._tag === "ForwardBackward" ? call.data : [])
        assert.deepStrictEqual(trained.map((each) => each.modelInput), [prompt(4)])
      }))

    it.effect("counts toward the context length with its number of positions", () =>
      Effect.gen(function*() {
        const tinker = yield* Tinker.Tinker
        const sampler = yield* tinker.createSamplingClient({ baseModel: Script.defaultModel })
        const error = yield* Effect.flip(sampler.sample(request(600)))
        assert.include(error.message, "prompt of 603 tokens and 2 to sample exceed the context of 512")
      }))
  })

  const engine = Layer.unwrap(Effect.map(folder, (checkpoints) => Engine.layerOptions({ checkpoints, workers: 1 })))
  layer(between(Layer.provide(engine, NodeServices.layer)), { excludeTestServices: true })((it) => {
    it.effect("is refused by the engine, whose models read only text", () =>
      Effect.gen(function*() {
        const tinker = yield* Tinker.Tinker
        const sampler = yield* tinker.createSamplingClient({ baseModel: "effect-rl/tiny-64" })
        const sampled = yield* Effect.flip(sampler.sample(request(4)))
        assert.include(sampled.message, "images is not supported: chunk 1 is Image, expected text")
        const training = yield* tinker.createLoraTrainingClient({ baseModel: "effect-rl/tiny-64", loraRank: 1 })
        const trained = yield* Effect.flip(
          Effect.flatMap(training.forwardBackward([datum(4)], Loss.crossEntropy), (pending) => pending.await)
        )
        assert.include(trained.message, "images is not supported: chunk 1 is Image, expected text")
      }))
  })
})
