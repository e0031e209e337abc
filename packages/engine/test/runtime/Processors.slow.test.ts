import { Loss, Tinker } from "@effect-rl/core"
import * as Engine from "@effect-rl/engine/Engine"
import { Host } from "@effect-rl/engine/runtime/Host"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it, vi } from "@effect/vitest"
import { Array, Effect, FileSystem, Layer } from "effect"
import { syncBuiltinESMExports } from "node:module"
import os from "node:os"
import * as TestEngine from "./TestEngine.ts"

/** Makes this machine report `count` processors until the scope closes. */
const pretendProcessors = (count: number) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const spy = vi.spyOn(os, "availableParallelism").mockReturnValue(count)
      syncBuiltinESMExports()
      return spy
    }),
    (spy) =>
      Effect.sync(() => {
        spy.mockRestore()
        syncBuiltinESMExports()
      })
  )

/** Two updates and a sample on a new engine. */
const trained = (options: Omit<Engine.EngineOptions, "checkpoints">) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const checkpoints = yield* fs.makeTempDirectoryScoped()
    const program = Effect.gen(function*() {
      const tinker = yield* Tinker.Tinker
      const client = yield* tinker.createLoraTrainingClient({ baseModel: TestEngine.model, loraRank: 4, seed: 1 })
      const data = Array.makeBy(40, (index) => TestEngine.textDatum(TestEngine.prompt(index, 60)))
      yield* client.forwardBackward(data, Loss.crossEntropy)
      yield* Effect.flatMap(client.optimStep({ learningRate: 1e-3 }), (pending) => pending.await)
      const sampler = yield* client.saveWeightsAndGetSamplingClient
      return yield* Effect.forEach(
        Array.range(1, 32),
        (seed) => sampler.sample({ prompt: TestEngine.prompt(seed), params: { maxTokens: 20, seed } }),
        { concurrency: "unbounded" }
      )
    })
    return yield* Effect.provide(Effect.scoped(program), Engine.layerOptions({ checkpoints, ...options }))
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))

describe("Engine on machines with many processors", () => {
  it.effect("starts one thread per processor, at most 16", () =>
    Effect.gen(function*() {
      for (const [processors, workers] of [[2, 2], [16, 16], [64, 16], [256, 16]] as const) {
        yield* pretendProcessors(processors)
        assert.strictEqual((yield* Engine.plan()).workers, workers)
      }
      yield* pretendProcessors(16)
      assert.strictEqual((yield* trained({})).length, 32)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)))

  it.effect("trains and samples identically with 16 threads and with one", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* trained({ workers: 16 }), yield* trained({ workers: 1 }))
    }))

  it.effect("stays within 4 GiB with 16 threads and two presets loaded", () =>
    Effect.gen(function*() {
      const tinker = yield* Tinker.Tinker
      for (const baseModel of ["effect-rl/tiny-128", "effect-rl/tiny-64"]) {
        yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 32, seed: 1 })
      }
      const { room, threads } = yield* Host
      assert.strictEqual((yield* threads.stats).threads.length, 16)
      assert.isAtMost(room.memory.buffer.byteLength, 2 ** 32)
      assert.isAbove(room.free(), 2 ** 29)
    }).pipe(Effect.scoped, Effect.provide(TestEngine.layer(16))))

  it.effect("refuses more workers than fit in memory, and reports the maximum", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Effect.scoped(Layer.build(Engine.layerOptions({ workers: 1000 }))))
      assert.strictEqual(
        error.message,
        "the engine cannot start: workers is 1000, expected at most 212: the memory of 4 GiB has no room for more"
      )
    }).pipe(Effect.provide(NodeServices.layer)))
})
