/** Kernels, memory, weights and scratch space of one thread. */
import type { Kernels } from "../numerics/Kernels.ts"
import type { Arena, Memory } from "../numerics/Memory.ts"
import type { ModelConfig } from "./ModelConfig.ts"
import type { Weights } from "./Weights.ts"

export interface Compute {
  readonly kernels: Kernels
  readonly memory: Memory
  readonly config: ModelConfig
  readonly weights: Weights
  /** Scratch of this thread. Functions leave their results there; the caller resets it. */
  readonly arena: Arena
}
