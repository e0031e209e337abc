import { Loss, Tinker } from "@effect-rl/core"
import { Datum, ModelInput } from "@effect-rl/core/backend"
import * as Engine from "@effect-rl/engine/Engine"
import * as Merge from "@effect-rl/engine/Merge"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem, Path } from "effect"
import * as GgufPreset from "./checkpoint/GgufPreset.ts"
import * as TestEngine from "./runtime/TestEngine.ts"

const prompt = TestEngine.prompt(3, 20)

const datum = Datum.weightedTokens(ModelInput.fromTokens(TestEngine.tokensOf(prompt).slice(0, -1)), {
  targetTokens: Int32Array.from(TestEngine.tokensOf(prompt).slice(1)),
  weights: new Float32Array(19).fill(1)
})

/** Trains an adapter; its folder, and the log-probabilities of the prompt with it. */
const trained = Effect.fnUntraced(function*(model: string, folder: string, trainUnembed: boolean) {
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

const scores = (model: string, folder: string) =>
  Effect.gen(function*() {
    const tinker = yield* Tinker.Tinker
    const sampler = yield* tinker.createSamplingClient({ baseModel: model })
    return yield* sampler.computeLogprobs(prompt)
  }).pipe(Effect.scoped, Effect.provide(Engine.layerOptions({ checkpoints: folder, models: [model], workers: 0 })))

const temporary = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const folder = yield* fs.makeTempDirectoryScoped()
  const file = path.join(folder, "tiny.gguf")
  yield* fs.writeFile(file, yield* GgufPreset.encode)
  return { folder, models: { folder: GgufPreset.folder, "GGUF file": file }, target: path.join(folder, "merged") }
})

describe("Merge", () => {
  layer(NodeServices.layer)((it) => {
    for (const kind of ["folder", "GGUF file"] as const) {
      for (const trainUnembed of [true, false]) {
        it.effect(`of a ${kind} computes the same as the adapter${trainUnembed ? ", its tied head untied" : ""}`, () =>
          Effect.gen(function*() {
            const { folder, models, target } = yield* temporary
            const { adapter, logprobs } = yield* trained(models[kind], folder, trainUnembed)
            const before = yield* scores(models[kind], folder)
            assert.isAbove(Math.abs((before[5] ?? 0) - (logprobs[5] ?? 0)), 0.1)
            yield* Merge.write({ model: models[kind], adapter, target })
            const merged = yield* scores(target, folder)
            for (let t = 1; t < 20; t++) assert.closeTo(merged[t] ?? NaN, logprobs[t] ?? NaN, 1e-4)
          }))
      }
    }

    it.effect("refuses a target that exists, an adapter of another model and a folder without one", () =>
      Effect.gen(function*() {
        const path = yield* Path.Path
        const { folder, models, target } = yield* temporary
        const { adapter } = yield* trained(models.folder, folder, true)
        const refused = (options: Partial<Merge.MergeOptions>) =>
          Effect.map(
            Effect.flip(Merge.write({ model: models.folder, adapter, target, ...options })),
            ({ message }) => message
          )
        assert.include(yield* refused({ target: folder }), `cannot merge: ${folder} is in the way`)
        const other = path.join(GgufPreset.folder, "..", "tiny-128")
        assert.include(yield* refused({ model: other }), "q_proj.lora_A.weight: has shape [4,64], expected [4,128]")
        assert.include(yield* refused({ adapter: folder }), "adapter_config.json")
        assert.include(yield* refused({ model: "/no/such/model" }), "/no/such/model: config.json cannot be read")
      }))
  })
})
