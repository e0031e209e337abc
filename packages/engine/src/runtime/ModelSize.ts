/** How much of a model's work one thread takes at once, from what fits into the memory it gets. */
import * as Batch from "../model/Batch.ts"
import type { ModelConfig } from "../model/ModelConfig.ts"
import * as Pass from "../model/Pass.ts"
import * as MicroBatch from "./MicroBatch.ts"
import { maximumCandidates } from "./TrainingItem.ts"

/** LoRA ranks that scratch is reserved for. */
export const loraRank = [1, 32] as const

/** Scratch of one thread for one model; tiny models need a tenth. */
const arenaBudget = 512 * 1024 * 1024

/** Keys and values of one thread for one model. */
const cacheBudget = 256 * 1024 * 1024

/** More rows in one step make it longer without making a token cheaper. */
const maximumSlots = 128

/** A training task on the same thread waits no longer than for a step of these. */
const maximumPrefillRows = 256

export interface ModelSize {
  /** The model's own, or less where a pass over it would not fit. */
  readonly contextLength: number
  /** Rows of a micro-batch of several sequences. */
  readonly microBatchRows: number
  readonly arenaBytes: number
  readonly slots: number
  /** Prompt rows of one sampling step. */
  readonly prefillRows: number
  readonly cacheBytes: number
}

const arenaBytes = (config: ModelConfig, rows: number) =>
  Pass.scratchBytes(config, { rows, longest: rows, candidates: maximumCandidates, paddedRank: loraRank[1] })

export const of = (config: ModelConfig): ModelSize => {
  const wanted = Math.max(MicroBatch.maximumRows, config.contextLength)
  const perRow = arenaBytes(config, 2) - arenaBytes(config, 1)
  const rows = Math.max(1, Math.min(wanted, Math.floor(arenaBudget / perRow)))
  const contextLength = Math.min(config.contextLength, rows)
  const slotBytes = Batch.cacheLayout(config, contextLength).bytes
  const slots = Math.max(1, Math.min(maximumSlots, Math.floor(rows / 2), Math.floor(cacheBudget / slotBytes)))
  return {
    contextLength,
    microBatchRows: Math.min(MicroBatch.maximumRows, rows),
    arenaBytes: arenaBytes(config, rows),
    slots,
    prefillRows: Math.max(1, Math.min(maximumPrefillRows, rows - slots)),
    cacheBytes: slots * slotBytes
  }
}
