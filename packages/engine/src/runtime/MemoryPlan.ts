/**
 * Plans a model's use of the engine's memory: the number of compute threads, each thread's scratch space and key-value cache, and the
 * longest sequence that they allow.
 */
import * as Adapter from "../model/Adapter.ts"
import * as Batch from "../model/Batch.ts"
import * as ModelConfig from "../model/ModelConfig.ts"
import * as Pass from "../model/Pass.ts"
import * as Weights from "../model/Weights.ts"
import * as Memory from "../numerics/Memory.ts"
import * as MicroBatch from "./MicroBatch.ts"
import * as Pages from "./Pages.ts"
import { gradientBlocksPerThread } from "./Passes.ts"
import { maximumCandidates } from "./TrainingItem.ts"

/** The smallest and largest LoRA rank for which scratch space is reserved. */
export const loraRank = [1, 128] as const

/** Rank of the adapter for which a plan leaves memory. */
const plannedRank = 32

/** Upper bound on the scratch space of a micro-batch with several sequences, in bytes. */
const microBatchBudget = 256 * 1024 * 1024

/** Maximum samples in one step: more samples lengthen the step without making a token cheaper. */
const maximumSequences = 128

/** Maximum prompt rows in one step. The number is limited because training tasks on the same thread wait for the step. */
const maximumPrefillRows = 256

/** Expected number of positions in a sampled sequence. */
const positionsPerSequence = 256

/** A third or further thread is used only if sequences of this many tokens, or of the model's context length if shorter, still fit. */
const enoughContext = 2048

/** A second thread is used only if sequences of this many tokens, or of the model's context length if shorter, still fit. */
const leastContext = 512

/** The share of the memory not taken by weights that a plan uses. The rest is kept for further adapters and models. */
const plannedShare = 0.75

/** The threads and the memory that a plan may use. */
export interface Supply {
  /** The maximum number of compute threads. */
  readonly threads: number
  /** Free bytes of the memory. */
  readonly bytes: number
  /** Bytes of scratch space that each thread already has. */
  readonly arenaBytes: number
}

export interface MemoryPlan {
  /** Number of threads that work with the model. */
  readonly threads: number
  /** The model's context length, or the largest length that fits if that is smaller. */
  readonly contextLength: number
  /** Limits of micro-batches with several sequences. */
  readonly microBatch: MicroBatch.Limits
  readonly weightBytes: number
  /** Bytes of scratch space per thread while the model only samples. */
  readonly samplingBytes: number
  /** Bytes of scratch space per thread once the model is trained. */
  readonly trainingBytes: number
  /** Number of samples that each thread draws concurrently. */
  readonly sequences: number
  /** Key-value positions per thread, in whole pages that the thread's samples share. */
  readonly positions: number
  readonly cacheBytes: number
  /** Prompt rows per sampling step. */
  readonly prefillRows: number
  /** Bytes of weights, caches and scratch space, without the scratch space that threads already have. */
  readonly totalBytes: number
}

/** The largest number up to `most` that fits, or 0. Every number below a number that fits must fit too. */
const largest = (most: number, fits: (value: number) => boolean): number => {
  let [low, high] = [0, most]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (fits(middle)) low = middle
    else high = middle - 1
  }
  return low
}

const sizeOf = (rows: number, longest: number): Pass.PassSize => ({
  rows,
  longest,
  targets: rows * maximumCandidates,
  paddedRank: loraRank[1]
})

/** Maximum rows of a micro-batch such that all layers can keep their records within `microBatchBudget`. */
const microBatchRows = (config: ModelConfig.ModelConfig): number =>
  Math.max(
    1,
    largest(MicroBatch.maximumRows, (rows) => Pass.scratchBytes(config, sizeOf(rows, rows)) <= microBatchBudget)
  )

/**
 * Micro-batch limits. They do not depend on the number of threads, since gradient sums depend on the split. A micro-batch whose sequences
 * share long prefixes may have as many rows as fit into the same scratch space with recomputed records.
 */
const microBatchLimits = (config: ModelConfig.ModelConfig): MicroBatch.Limits => {
  const rows = microBatchRows(config)
  const bytes = Pass.scratchBytes(config, sizeOf(rows, rows))
  const fits = (more: number) =>
    Pass.scratchBytes(config, { ...sizeOf(more, more), targets: rows * maximumCandidates }, "recomputed") <= bytes
  return { rows, sharedRows: largest(4 * rows, fits), targets: rows * maximumCandidates }
}

/** Positions for a full step of samples or for one sequence of the full context length, whichever is more. */
const wantedPositions = (context: number): number =>
  Pages.rounded(Math.max(context, maximumSequences * positionsPerSequence))

/** Bytes for one segment per cache page, and for the path through the pages of one sequence. */
const pageTableBytes = (context: number): number =>
  (wantedPositions(context) * 16 + Pages.rounded(context) * 8) / Pages.pageSize

const samplingBytes = (config: ModelConfig.ModelConfig, context: number): number => {
  const rows = maximumSequences + maximumPrefillRows
  const picking = 4 * ModelConfig.paddedVocabulary(config) * 4
  const scratch = Pass.scratchBytes(config, sizeOf(rows, context), "recomputed")
  return Memory.aligned(scratch + pageTableBytes(context) + picking)
}

/** The largest of the bytes for a micro-batch with kept records, for one full-length sequence with recomputed records, and for sampling. */
const trainingBytes = (config: ModelConfig.ModelConfig, context: number): number => {
  const rows = Math.min(microBatchRows(config), Math.max(context, MicroBatch.maximumRows))
  const microBatch = Pass.scratchBytes(config, sizeOf(rows, rows))
  const sequence = Pass.scratchBytes(config, sizeOf(context, context), "recomputed")
  return Memory.aligned(Math.max(microBatch, sequence, samplingBytes(config, context)))
}

/** Bytes for an adapter with its gradient, moments and packed blocks, a snapshot, and the gradients of concurrent micro-batches. */
const adapterBytes = (config: ModelConfig.ModelConfig, threads: number): number =>
  Adapter.layout(config, { rank: plannedRank }).parameterFloats * 4 * (7 + gradientBlocksPerThread * threads)

/** Divides `bytes` among models that are served together: each gets its weights and an equal part of the remainder. */
export const shares = (weightBytes: ReadonlyArray<number>, bytes: number): ReadonlyArray<number> => {
  const left = bytes - weightBytes.reduce((sum, one) => sum + one, 0)
  return weightBytes.map((own) => Math.min(bytes, own + Math.max(0, left) / weightBytes.length))
}

/** Whether a model can be used with this many bytes: with a context of 512 tokens, or of the model's context length if shorter. */
export const fits = (plan: MemoryPlan, config: ModelConfig.ModelConfig, bytes: number): boolean =>
  plan.totalBytes <= bytes && plan.contextLength >= Math.min(config.contextLength, leastContext)

/**
 * Plans a model for the free part of the memory. A plan has at least one thread and one position; the model does not fit if `totalBytes`
 * exceeds the supply.
 */
export const of = (
  config: ModelConfig.ModelConfig,
  storageOf: Weights.StorageOf,
  supply: Supply
): MemoryPlan => {
  const weightBytes = Weights.bytes(config, storageOf)
  const positionBytes = Batch.cacheLayout(config, 1).bytes
  const arena = (context: number) => Math.max(0, trainingBytes(config, context) - supply.arenaBytes)
  const perThread = (threads: number) =>
    ((supply.bytes - weightBytes) * plannedShare - adapterBytes(config, threads)) / threads
  const fits = (context: number, threads: number) =>
    arena(context) + Pages.rounded(context) * positionBytes <= perThread(threads)
  const threadsWith = (context: number) =>
    largest(supply.threads, (threads) => fits(Math.min(config.contextLength, context), threads))
  const threads = Math.max(1, Math.min(2, threadsWith(leastContext)), threadsWith(enoughContext))
  const contextLength = Math.max(1, largest(config.contextLength, (context) => fits(context, threads)))
  const pageBytes = Pages.pageSize * positionBytes
  const possible = Pages.pageSize * Math.floor((perThread(threads) - arena(contextLength)) / pageBytes)
  const positions = Math.max(Pages.rounded(contextLength), Math.min(wantedPositions(contextLength), possible))
  const cacheBytes = Memory.aligned(positions * positionBytes)
  return {
    threads,
    contextLength,
    microBatch: microBatchLimits(config),
    weightBytes,
    samplingBytes: samplingBytes(config, contextLength),
    trainingBytes: trainingBytes(config, contextLength),
    sequences: maximumSequences,
    positions,
    cacheBytes,
    prefillRows: maximumPrefillRows,
    totalBytes: weightBytes + threads * (arena(contextLength) + cacheBytes)
  }
}
