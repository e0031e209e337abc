/** Messages between the host of a pretraining run and its workers. */
import type { Gradients } from "@effect-rl/engine/model/Gradients"
import type { ModelConfig } from "@effect-rl/engine/model/ModelConfig"
import type { Weights } from "@effect-rl/engine/model/Weights"
import type { Module } from "@effect-rl/engine/numerics/Kernels"
import type { Memory, Region } from "@effect-rl/engine/numerics/Memory"
import type { Document } from "../corpus/Documents.ts"

export interface Start {
  readonly module: Module
  readonly memory: Memory
  readonly config: ModelConfig
  readonly weights: Weights
  readonly arena: Region
}

/** Some documents of a batch, and the block to which their gradients are added. */
export interface Shard {
  readonly index: number
  readonly documents: ReadonlyArray<Document>
  readonly gradients: Gradients
}

export interface Done {
  readonly index: number
  readonly loss: number
}
