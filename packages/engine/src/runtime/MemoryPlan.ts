/**
 * How a model shares the engine's memory: the number of compute threads that work with it, and the scratch space and
 * key-value cache of each.
 */
import * as Batch from "../model/Batch.ts"
import type { ModelConfig } from "../model/ModelConfig.ts"
import * as Pass from "../model/Pass.ts"
import * as Weights from "../model/Weights.ts"
import * as Memory from "../numerics/Memory.ts"
import * as MicroBatch from "./MicroBatch.ts"
import { maximumCandidates } from "./TrainingItem.ts"

/** LoRA ranks that scratch space is reserved for. */
export const loraRank = [1, 32] as const

/** Most scratch space of one thread; tiny models need a tenth of it. */
const arenaBudget = 512 * 1024 * 1024

/** Most key-value cache of one thread. */
const cacheBudget = 256 * 1024 * 1024

/** More rows in one step make it longer without making a token cheaper. */
const maximumSlots = 128

/** Below this many sequences at once, a thread more costs other threads more than it adds. */
const minimumSlots = 4

/** A training task on the same thread waits no longer than for a step of these. */
const maximumPrefillRows = 256

/** Share of the memory beside the weights that threads may take; adapters and further models need the rest. */
const threadShare = 0.5

/** What a plan may use. */
export interface Supply {
  /** Most compute threads. */
  readonly threads: number
  /** Free bytes of the memory. */
  readonly bytes: number
}

export interface MemoryPlan {
  /** Threads that work with the model. */
  readonly threads: number
  /** The model's own context, or less where a pass over it would not fit. */
  readonly contextLength: number
  /** Rows of a micro-batch of several sequences. */
  readonly microBatchRows: number
  readonly weightBytes: number
  /** Scratch space of each thread. */
  readonly arenaBytes: number
  /** Sequences that each thread samples at once. */
  readonly slots: number
  /** Prompt rows of one sampling step. */
  readonly prefillRows: number
  /** Key-value cache of each thread. */
  readonly cacheBytes: number
  /** Weights, scratch space and caches together. */
  readonly totalBytes: number
}

const arenaBytes = (config: ModelConfig, rows: number) =>
  Pass.scratchBytes(config, { rows, longest: rows, candidates: maximumCandidates, paddedRank: loraRank[1] })

/** Most rows of a pass; the same for any number of threads, as results must not depend on it. */
const passRows = (config: ModelConfig) => {
  const wanted = Math.max(MicroBatch.maximumRows, config.contextLength)
  const perRow = arenaBytes(config, 2) - arenaBytes(config, 1)
  return Math.max(1, Math.min(wanted, Math.floor(arenaBudget / perRow)))
}

/**
 * The plan of a model that is loaded into the free part of the memory. It has one thread at least: the model does not
 * fit if `totalBytes` exceeds the supply.
 */
export const of = (config: ModelConfig, storageOf: Weights.StorageOf, supply: Supply): MemoryPlan => {
  const rows = passRows(config)
  const contextLength = Math.min(config.contextLength, rows)
  const arena = Memory.aligned(arenaBytes(config, rows))
  const slotBytes = Batch.cacheLayout(config, contextLength).bytes
  const mostSlots = Math.max(1, Math.min(maximumSlots, Math.floor(rows / 2), Math.floor(cacheBudget / slotBytes)))
  const weightBytes = Weights.bytes({ ...config, contextLength }, storageOf)
  const share = Math.max(0, supply.bytes - weightBytes) * threadShare
  const smallest = arena + Math.min(minimumSlots, mostSlots) * slotBytes
  const threads = Math.max(1, Math.min(supply.threads, Math.floor(share / smallest)))
  const slots = Math.max(1, Math.min(mostSlots, Math.floor((share / threads - arena) / slotBytes)))
  const cacheBytes = Memory.aligned(slots * slotBytes)
  return {
    threads,
    contextLength,
    microBatchRows: Math.min(MicroBatch.maximumRows, rows),
    weightBytes,
    arenaBytes: arena,
    slots,
    prefillRows: Math.max(1, Math.min(maximumPrefillRows, rows - slots)),
    cacheBytes,
    totalBytes: weightBytes + threads * (arena + cacheBytes)
  }
}
