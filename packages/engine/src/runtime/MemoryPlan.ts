/**
 * How a model shares the engine's memory: the number of compute threads that work with it, the scratch space and
 * key-value cache of each, and the longest sequence that follows from them.
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

/** LoRA ranks that scratch space is reserved for. */
export const loraRank = [1, 128] as const

/** Rank of the adapter that a plan leaves room for. */
const plannedRank = 32

/** Most scratch space of a micro-batch of several sequences. */
const microBatchBudget = 256 * 1024 * 1024

/** Most samples of one step: more of them make it longer without making a token cheaper. */
const maximumSequences = 128

/** Most prompt rows of one step, as training tasks on the same thread wait for it. */
const maximumPrefillRows = 256

/** Positions that a sampled sequence is expected to take. */
const positionsPerSequence = 256

/** A third thread, and each further one, is not worth a shorter context than this. */
const enoughContext = 2048

/** A second thread is not worth a shorter context than this. */
const leastContext = 512

/** Share of the memory beside the weights that a plan uses; further adapters and models need the rest. */
const plannedShare = 0.75

/** Threads and memory that a plan may use. */
export interface Supply {
  /** Most compute threads. */
  readonly threads: number
  /** Free bytes of the memory. */
  readonly bytes: number
  /** Bytes of scratch space that each thread has already. */
  readonly arenaBytes: number
}

export interface MemoryPlan {
  /** Threads that work with the model. */
  readonly threads: number
  /** The model's own context, or as much of it as fits. */
  readonly contextLength: number
  /** Micro-batches of several sequences. */
  readonly microBatch: MicroBatch.Limits
  readonly weightBytes: number
  /** Scratch space of each thread while the model is only sampled from. */
  readonly samplingBytes: number
  /** Scratch space of each thread once the model is trained. */
  readonly trainingBytes: number
  /** Samples that each thread draws at once. */
  readonly sequences: number
  /** Key-value positions of each thread in whole pages, which its samples share. */
  readonly positions: number
  readonly cacheBytes: number
  /** Prompt rows of one sampling step. */
  readonly prefillRows: number
  /** Weights, caches and scratch space together, less the scratch space that threads have already. */
  readonly totalBytes: number
}

/** The largest number up to `most` that fits, where all smaller numbers fit as well; 0 where none does. */
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

/** Rows of a micro-batch whose layers keep their records. */
const microBatchRows = (config: ModelConfig.ModelConfig): number =>
  Math.max(
    1,
    largest(MicroBatch.maximumRows, (rows) => Pass.scratchBytes(config, sizeOf(rows, rows)) <= microBatchBudget)
  )

/**
 * Micro-batches, the same for any number of threads, as sums depend on them. Where sequences share much, a micro-batch has as
 * many rows as the same scratch space holds with records computed again.
 */
const microBatchLimits = (config: ModelConfig.ModelConfig): MicroBatch.Limits => {
  const rows = microBatchRows(config)
  const bytes = Pass.scratchBytes(config, sizeOf(rows, rows))
  const fits = (more: number) =>
    Pass.scratchBytes(config, { ...sizeOf(more, more), targets: rows * maximumCandidates }, "recomputed") <= bytes
  return { rows, sharedRows: largest(4 * rows, fits), targets: rows * maximumCandidates }
}

/** Positions for a full step of samples, or for one sequence as long as the context. */
const wantedPositions = (context: number): number =>
  Pages.rounded(Math.max(context, maximumSequences * positionsPerSequence))

/** A segment for each page of the cache, and the path through those of one sequence. */
const pageTableBytes = (context: number): number =>
  (wantedPositions(context) * 16 + Pages.rounded(context) * 8) / Pages.pageSize

const samplingBytes = (config: ModelConfig.ModelConfig, context: number): number => {
  const rows = maximumSequences + maximumPrefillRows
  const picking = 4 * ModelConfig.paddedVocabulary(config) * 4
  const scratch = Pass.scratchBytes(config, sizeOf(rows, context), "recomputed")
  return Memory.aligned(scratch + pageTableBytes(context) + picking)
}

/** A micro-batch with its records kept, or one sequence as long as the context with its records computed again. */
const trainingBytes = (config: ModelConfig.ModelConfig, context: number): number => {
  const rows = Math.min(microBatchRows(config), Math.max(context, MicroBatch.maximumRows))
  const microBatch = Pass.scratchBytes(config, sizeOf(rows, rows))
  const sequence = Pass.scratchBytes(config, sizeOf(context, context), "recomputed")
  return Memory.aligned(Math.max(microBatch, sequence, samplingBytes(config, context)))
}

/** An adapter with its gradient, moments and packs, a snapshot, and the gradients of micro-batches on their way. */
const adapterBytes = (config: ModelConfig.ModelConfig, threads: number): number =>
  Adapter.layout(config, { rank: plannedRank }).parameterFloats * 4 * (7 + gradientBlocksPerThread * threads)

/** Bytes for each of several models that are served together: its weights, and an equal part of what all of them leave. */
export const shares = (weightBytes: ReadonlyArray<number>, bytes: number): ReadonlyArray<number> => {
  const left = bytes - weightBytes.reduce((sum, one) => sum + one, 0)
  return weightBytes.map((own) => Math.min(bytes, own + Math.max(0, left) / weightBytes.length))
}

/** Whether a model can be used with these bytes: for sequences of 512 tokens, or as many as it was made for. */
export const fits = (plan: MemoryPlan, config: ModelConfig.ModelConfig, bytes: number): boolean =>
  plan.totalBytes <= bytes && plan.contextLength >= Math.min(config.contextLength, leastContext)

/**
 * The plan of a model that is loaded into the free part of the memory. It has one thread and one position at least: the
 * model does not fit if `totalBytes` exceeds the supply.
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
