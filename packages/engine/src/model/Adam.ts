/** Adam with decoupled weight decay for one block of parameters. */
import type { Kernels } from "../numerics/Kernels.ts"
import * as Memory from "../numerics/Memory.ts"

export interface AdamConfig {
  readonly learningRate: number
  readonly beta1: number
  readonly beta2: number
  /** The number added to the denominator. It must be above 0, or the change of a parameter that never had a gradient would be 0/0. */
  readonly epsilon: number
  readonly weightDecay: number
  /** Gradients are scaled down so that their L2 norm over all parameters is at most this; 0 disables clipping. */
  readonly gradientClipNorm: number
}

export const defaults: AdamConfig = {
  learningRate: 1e-4,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-12,
  weightDecay: 0,
  gradientClipNorm: 0
}

/** Addresses of blocks with the same layout, each of `floats` floats. */
export interface Blocks {
  readonly parameters: Memory.Address
  readonly gradients: Memory.Address
  readonly first: Memory.Address
  readonly second: Memory.Address
  readonly floats: number
}

export interface StepNorms {
  /** L2 norm of all gradients before clipping. */
  readonly gradient: number
  /** L2 norm of the parameter change; NaN if the step was refused. */
  readonly update: number
}

/** Sets both moments to 0. */
export const reset = (memory: Memory.Memory, { first, floats, second }: Blocks): void => {
  Memory.floats(memory, first, floats).fill(0)
  Memory.floats(memory, second, floats).fill(0)
}

/**
 * Applies step number `step`, counted from 1. The gradients stay unchanged. A step that would make a moment or the square of a parameter
 * non-finite is refused and changes nothing.
 */
export const step = (kernels: Kernels, blocks: Blocks, config: AdamConfig, step: number): StepNorms => {
  const gradient = Math.sqrt(kernels.sumSquares(blocks.gradients, blocks.floats))
  const { gradientClipNorm: limit } = config
  const apply = (isKept: 0 | 1) =>
    kernels.adam(
      blocks.parameters,
      blocks.gradients,
      blocks.first,
      blocks.second,
      blocks.floats,
      config.learningRate,
      config.beta1,
      config.beta2,
      config.epsilon,
      1 / (1 - Math.pow(config.beta1, step)),
      1 / (1 - Math.pow(config.beta2, step)),
      config.weightDecay,
      limit > 0 && gradient > limit ? limit / (gradient + 1e-6) : 1,
      isKept
    )
  return { gradient, update: Number.isFinite(apply(0)) ? Math.sqrt(apply(1)) : NaN }
}
