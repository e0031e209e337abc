import { Loss, Tinker } from "@effect-rl/core"
import * as Engine from "@effect-rl/engine/Engine"
import * as Adapter from "@effect-rl/engine/model/Adapter"
import type { ModelConfig } from "@effect-rl/engine/model/ModelConfig"
import * as Weights from "@effect-rl/engine/model/Weights"
import * as Memory from "@effect-rl/engine/numerics/Memory"
import { Host } from "@effect-rl/engine/runtime/Host"
import * as MemoryPlan from "@effect-rl/engine/runtime/MemoryPlan"
import { gradientBlocksPerThread } from "@effect-rl/engine/runtime/Passes"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it, vi } from "@effect/vitest"
import { Array, Effect, FileSystem, Layer } from "effect"
import { syncBuiltinESMExports } from "node:module"
import os from "node:os"
import * as TestEngine from "./TestEngine.ts"

/** Makes this machine say that it has so many processors, until the scope closes. */
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

const tiny64: ModelConfig = {
  family: "qwen3",
  vocabularySize: 512,
  hiddenSize: 64,
  feedForwardSize: 192,
  layers: 3,
  heads: 2,
  keyHeads: 1,
  headSize: 32,
  biases: [],
  normEpsilon: 1e-6,
  ropeTheta: 10_000,
  contextLength: 1152,
  tiedEmbeddings: true
}

const tiny128: ModelConfig = { ...tiny64, hiddenSize: 128, feedForwardSize: 384, layers: 4, heads: 4, keyHeads: 2 }

const smolLM2: ModelConfig = {
  ...tiny64,
  family: "llama",
  vocabularySize: 49_152,
  hiddenSize: 576,
  feedForwardSize: 1536,
  layers: 30,
  heads: 9,
  keyHeads: 3,
  headSize: 64,
  contextLength: 8192
}

const qwen3: ModelConfig = {
  ...tiny64,
  vocabularySize: 151_936,
  hiddenSize: 1024,
  feedForwardSize: 3072,
  layers: 28,
  heads: 16,
  keyHeads: 8,
  headSize: 128,
  contextLength: 40_960
}

const planned = (config: ModelConfig, threads: number) =>
  MemoryPlan.of(config, () => "panels", { threads, bytes: Memory.capacity, arenaBytes: 0 })

/** Two updates and a sample by an engine of its own. */
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

describe("MemoryPlan", () => {
  const presets = [
    [tiny64, 2, { threads: 2, positions: 32_768, mebibytes: 74 }],
    [tiny64, 16, { threads: 16, positions: 32_768, mebibytes: 578 }],
    [tiny64, 64, { threads: 64, positions: 32_768, mebibytes: 2309 }],
    [tiny64, 128, { threads: 128, positions: 14_112, mebibytes: 2868 }],
    [tiny128, 2, { threads: 2, positions: 32_768, mebibytes: 177 }],
    [tiny128, 16, { threads: 16, positions: 32_768, mebibytes: 1370 }],
    [tiny128, 64, { threads: 64, positions: 11_648, mebibytes: 2822 }],
    [tiny128, 128, { threads: 112, positions: 1152, mebibytes: 2637 }]
  ] as const
  for (const [config, processors, numbers] of presets) {
    it(`plans a model of hidden size ${config.hiddenSize} for ${processors} processors`, () => {
      const { positions, threads, totalBytes } = planned(config, processors)
      assert.deepStrictEqual({ threads, positions, mebibytes: Math.round(totalBytes / 2 ** 20) }, numbers)
    })
  }

  const large = [
    ["SmolLM2-135M", smolLM2, 1, { threads: 1, contextLength: 8192 }],
    ["SmolLM2-135M", smolLM2, 2, { threads: 2, contextLength: 7123 }],
    ["SmolLM2-135M", smolLM2, 64, { threads: 5, contextLength: 2300 }],
    ["Qwen3-0.6B", qwen3, 1, { threads: 1, contextLength: 2752 }],
    ["Qwen3-0.6B", qwen3, 64, { threads: 2, contextLength: 1024 }]
  ] as const
  for (const [name, config, processors, numbers] of large) {
    it(`plans ${name} in BF16 for ${processors} processors, with room for an adapter of rank 32`, () => {
      const supply = { threads: processors, bytes: Memory.capacity, arenaBytes: 0 }
      const { contextLength, threads, totalBytes } = MemoryPlan.of(config, () => "BF16", supply)
      assert.deepStrictEqual({ threads, contextLength }, numbers)
      const blocks = 7 + gradientBlocksPerThread * threads
      assert.isAtMost(totalBytes + blocks * 4 * Adapter.layout(config, { rank: 32 }).parameterFloats, Memory.capacity)
    })
  }

  it("shares the memory among models that are served together, so that each has its room whichever is loaded first", () => {
    const shared = (config: ModelConfig) => {
      const weightBytes = Weights.bytes(config, () => "BF16")
      const [share = 0] = MemoryPlan.shares([weightBytes, weightBytes], Memory.capacity)
      const plan = MemoryPlan.of(config, () => "BF16", { threads: 2, bytes: share, arenaBytes: 0 })
      return { plan, fits: MemoryPlan.fits(plan, config, share) }
    }
    const { fits, plan } = shared(smolLM2)
    assert.isTrue(fits)
    assert.isAtMost(2 * plan.totalBytes, Memory.capacity)
    assert.isFalse(shared(qwen3).fits)
  })

  it("fits a model that was made for short sequences, whole, and none whose bytes are too many", () => {
    const short = { ...tiny64, contextLength: 256 }
    const plan = planned(short, 1)
    assert.strictEqual(plan.contextLength, 256)
    assert.isTrue(MemoryPlan.fits(plan, short, plan.totalBytes))
    assert.isFalse(MemoryPlan.fits(plan, short, plan.totalBytes - 1))
  })

  it("has room for both presets together with any number of processors", () => {
    for (const processors of Array.range(1, 256)) {
      const first = planned(tiny128, processors)
      const bytes = Memory.capacity - first.totalBytes
      assert.isAtMost(
        first.totalBytes +
          MemoryPlan.of(tiny64, () => "panels", { threads: processors, bytes, arenaBytes: first.trainingBytes })
            .totalBytes,
        Memory.capacity
      )
    }
  })

  it("does not let the number of threads change the size of micro-batches or the context", () => {
    for (const processors of [1, 16, 64, 128]) {
      const { contextLength, microBatch: { rows } } = planned(tiny128, processors)
      assert.deepStrictEqual({ contextLength, rows }, { contextLength: 1152, rows: 512 })
    }
  })
})

describe("Engine on machines with many processors", () => {
  it.effect("starts one thread per processor, sixteen at most", () =>
    Effect.gen(function*() {
      for (const [processors, workers] of [[2, 2], [16, 16], [64, 16], [256, 16]] as const) {
        yield* pretendProcessors(processors)
        assert.strictEqual((yield* Engine.plan()).workers, workers)
      }
      yield* pretendProcessors(16)
      assert.strictEqual((yield* trained({})).length, 32)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)))

  it.effect("trains and samples the same with 16 threads as with one", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* trained({ workers: 16 }), yield* trained({ workers: 1 }))
    }))

  it.effect("stays within 4 GiB with 16 threads and both presets loaded", () =>
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

  it.effect("refuses more workers than the memory holds, and says how many it does", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Effect.scoped(Layer.build(Engine.layerOptions({ workers: 1000 }))))
      assert.strictEqual(
        error.message,
        "the engine cannot start: workers is 1000, expected at most 212: the memory of 4 GiB has no room for more"
      )
    }).pipe(Effect.provide(NodeServices.layer)))
})
