/** One thread's kernels, memory, weights and scratch space. */
import type { Kernels } from "../numerics/Kernels.ts"
import type { Arena, Memory } from "../numerics/Memory.ts"
import type { ModelConfig } from "./ModelConfig.ts"
import type { Weights } from "./Weights.ts"

export interface Compute {
  readonly kernels: Kernels
  readonly memory: Memory
  readonly config: ModelConfig
  readonly weights: Weights
  /** This thread's scratch space. Functions leave their results in it; the caller resets it. */
  readonly arena: Arena
}
