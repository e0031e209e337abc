import * as Adapter from "@effect-rl/engine/model/Adapter"
import type { ModelConfig } from "@effect-rl/engine/model/ModelConfig"
import * as Weights from "@effect-rl/engine/model/Weights"
import * as Memory from "@effect-rl/engine/numerics/Memory"
import * as MemoryPlan from "@effect-rl/engine/runtime/MemoryPlan"
import { gradientBlocksPerThread } from "@effect-rl/engine/runtime/Passes"
import { assert, describe, it } from "@effect/vitest"
import { Array } from "effect"

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
    it(`plans a model with hidden size ${config.hiddenSize} for ${processors} processors`, () => {
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
    it(`plans ${name} in BF16 for ${processors} processors, with memory for an adapter of rank 32`, () => {
      const supply = { threads: processors, bytes: Memory.capacity, arenaBytes: 0 }
      const { contextLength, threads, totalBytes } = MemoryPlan.of(config, () => "BF16", supply)
      assert.deepStrictEqual({ threads, contextLength }, numbers)
      const blocks = 7 + gradientBlocksPerThread * threads
      assert.isAtMost(totalBytes + blocks * 4 * Adapter.layout(config, { rank: 32 }).parameterFloats, Memory.capacity)
    })
  }

  it("divides memory among models that are served together", () => {
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

  it("fits a model with a short context if the bytes suffice for its full context", () => {
    const short = { ...tiny64, contextLength: 256 }
    const plan = planned(short, 1)
    assert.strictEqual(plan.contextLength, 256)
    assert.isTrue(MemoryPlan.fits(plan, short, plan.totalBytes))
    assert.isFalse(MemoryPlan.fits(plan, short, plan.totalBytes - 1))
  })

  it("has memory for tiny-128 and tiny-64 together with any number of processors", () => {
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

  it("keeps micro-batch sizes and context independent of the number of threads", () => {
    for (const processors of [1, 16, 64, 128]) {
      const { contextLength, microBatch: { rows } } = planned(tiny128, processors)
      assert.deepStrictEqual({ contextLength, rows }, { contextLength: 1152, rows: 512 })
    }
  })

  it("counts the bytes of weights, scratch space and caches, and their total", () => {
    assert.deepStrictEqual(planned(tiny64, 2), {
      threads: 2,
      contextLength: 1152,
      microBatch: { rows: 512, sharedRows: 791, targets: 32_768 },
      weightBytes: 1_591_808,
      samplingBytes: 4_250_432,
      trainingBytes: 12_645_952,
      sequences: 128,
      positions: 32_768,
      cacheBytes: 25_165_824,
      prefillRows: 256,
      totalBytes: 1_591_808 + 2 * (12_645_952 + 25_165_824)
    })
    assert.deepInclude(planned(smolLM2, 2), {
      contextLength: 5316,
      microBatch: { rows: 336, sharedRows: 1344, targets: 21_504 },
      weightBytes: 1_078_076_672,
      samplingBytes: 64_939_904,
      trainingBytes: 664_675_840,
      positions: 5344,
      cacheBytes: 246_251_520,
      totalBytes: 1_078_076_672 + 2 * (664_675_840 + 246_251_520)
    })
  })

  it("counts the scratch space that threads already have only once", () => {
    const { totalBytes, trainingBytes } = planned(tiny64, 2)
    const totalWith = (arenaBytes: number) =>
      MemoryPlan.of(tiny64, () => "panels", { threads: 2, bytes: Memory.capacity, arenaBytes }).totalBytes
    assert.strictEqual(totalWith(1000), totalBytes - 2 * 1000)
    assert.strictEqual(totalWith(trainingBytes), totalBytes - 2 * trainingBytes)
    assert.strictEqual(totalWith(2 * trainingBytes), totalBytes - 2 * trainingBytes)
  })

  it("uses three quarters of the memory that weights leave, within one page", () => {
    for (const megabytes of [20, 40, 80]) {
      const bytes = megabytes * 2 ** 20
      const { cacheBytes, positions, threads, totalBytes, weightBytes } = MemoryPlan.of(tiny64, () => "panels", {
        threads: 1,
        bytes,
        arenaBytes: 0
      })
      assert.strictEqual(threads, 1)
      const adapter = Adapter.layout(tiny64, { rank: 32 }).parameterFloats * 4 * (7 + gradientBlocksPerThread)
      const left = 0.75 * (bytes - weightBytes) - adapter - (totalBytes - weightBytes)
      assert.isAtLeast(left, -64)
      if (positions < 32_768) assert.isBelow(left, 32 * cacheBytes / positions)
    }
  })

  it("gives the longest context that fits, at least one position, and never more for less memory", () => {
    const contextIn = (megabytes: number) =>
      MemoryPlan.of(smolLM2, () => "BF16", { threads: 1, bytes: megabytes * 2 ** 20, arenaBytes: 0 }).contextLength
    assert.deepStrictEqual([1024, 1536, 1664, 1792, 2048, 4096].map(contextIn), [1, 3168, 3773, 4369, 5568, 8192])
  })

  it("uses a second thread if it leaves 512 positions, and a third if it leaves 2,048", () => {
    const threadsIn = (megabytes: number, contextLength = 8192) =>
      MemoryPlan.of({ ...smolLM2, contextLength }, () => "BF16", {
        threads: 4,
        bytes: megabytes * 2 ** 20,
        arenaBytes: 0
      }).threads
    assert.deepStrictEqual([512, 1024, 1536, 2048, 3072, 4096].map((megabytes) => threadsIn(megabytes)), [
      1,
      1,
      1,
      2,
      3,
      4
    ])
    assert.deepStrictEqual([512, 1024, 1536, 2048, 3072, 4096].map((megabytes) => threadsIn(megabytes, 256)), [
      1,
      1,
      1,
      2,
      4,
      4
    ])
  })

  it("divides the memory that weights leave equally, and no share exceeds the memory", () => {
    assert.deepStrictEqual(MemoryPlan.shares([100, 300], 1000), [100 + 300, 300 + 300])
    assert.deepStrictEqual(MemoryPlan.shares([600, 600], 1000), [600, 600])
    assert.deepStrictEqual(MemoryPlan.shares([1200], 1000), [1000])
    assert.deepStrictEqual(MemoryPlan.shares([], 1000), [])
  })
})
