/**
 * A low-rank adapter: y = x·W + (alpha/rank)·(x·A)·B for every adapted matrix, with A [inputs, rank] and B [rank, outputs].
 * All factors are stored in one block. Gradients and optimizer moments use the same layout, so one kernel call performs an
 * optimizer step. Ranks are padded to a multiple of 8 with columns and rows that stay zero.
 */
import type { Kernels } from "../numerics/Kernels.ts"
import * as Memory from "../numerics/Memory.ts"
import * as ModelConfig from "./ModelConfig.ts"

export interface AdapterConfig {
  readonly rank: number
  /** The numerator of the scale alpha/rank; default 32. */
  readonly alpha?: number
  /** Whether the attention matrices are adapted. Default: true, as for `trainMlp` and `trainUnembed`. */
  readonly trainAttention?: boolean
  readonly trainMlp?: boolean
  /** Whether the LM head is adapted. If the head is tied to the embedding, the adapter acts on the head only. */
  readonly trainUnembed?: boolean
}

/**
 * Offsets of one adapted matrix's factors, in floats: `a` and `b` in parameter blocks, `packedA` and `packedB` in the forward block,
 * `transposedA` and `transposedB` in the backward block.
 */
export interface Target {
  readonly inputs: number
  readonly outputs: number
  readonly a: number
  readonly b: number
  readonly packedA: number
  readonly packedB: number
  readonly transposedA: number
  readonly transposedB: number
}

/** The places of all adapted matrices in an adapter's blocks: plain data that can be posted to workers. */
export interface AdapterLayout {
  readonly rank: number
  readonly paddedRank: number
  readonly alpha: number
  readonly layers: ReadonlyArray<Partial<Readonly<Record<ModelConfig.LinearName, Target>>>>
  readonly head: Target | undefined
  /** Size in floats of a block that holds parameters, gradients or one optimizer moment. */
  readonly parameterFloats: number
  /** Size in floats of the block that the forward pass reads. */
  readonly forwardFloats: number
  /** Size in floats of the block that only the backward pass reads. */
  readonly backwardFloats: number
}

/** The adapter blocks that passes read. `backward` is 0 if no gradient is computed, as in a snapshot. */
export interface PackedAdapter {
  readonly layout: AdapterLayout
  readonly forward: Memory.Address
  readonly backward: Memory.Address
}

const attentionNames = ["query", "key", "value", "output"] as const
const mlpNames = ["gate", "up", "down"] as const

export const layout = (model: ModelConfig.ModelConfig, config: AdapterConfig): AdapterLayout => {
  const paddedRank = Math.ceil(config.rank / 8) * 8
  let parameters = 0
  let packed = 0
  const place = ([inputs, outputs]: readonly [number, number]): Target => {
    const b = parameters + inputs * paddedRank
    const second = packed + inputs * paddedRank
    const target = {
      inputs,
      outputs,
      a: parameters,
      b,
      packedA: packed,
      packedB: second,
      transposedA: packed,
      transposedB: second
    }
    parameters = b + outputs * paddedRank
    packed = second + outputs * paddedRank
    return target
  }
  const names: ReadonlyArray<ModelConfig.LinearName> = [
    ...(config.trainAttention ?? true ? attentionNames : []),
    ...(config.trainMlp ?? true ? mlpNames : [])
  ]
  const layers = Array.from(
    { length: model.layers },
    () => Object.fromEntries(names.map((name) => [name, place(ModelConfig.linearShape(model, name))]))
  )
  const head = config.trainUnembed ?? true
    ? place([model.hiddenSize, ModelConfig.paddedVocabulary(model)])
    : undefined
  return {
    rank: config.rank,
    paddedRank,
    alpha: config.alpha ?? 32,
    layers,
    head,
    parameterFloats: parameters,
    forwardFloats: packed,
    backwardFloats: packed
  }
}

/** One adapted matrix with its Hugging Face path. */
export interface NamedTarget {
  readonly path: string
  readonly target: Target
  /** The number of outputs without padding. */
  readonly outputs: number
}

export const namedTargets = (model: ModelConfig.ModelConfig, adapter: AdapterLayout): ReadonlyArray<NamedTarget> => [
  ...adapter.layers.flatMap((layer, index) =>
    ModelConfig.linearNames.flatMap((name) => {
      const target = layer[name]
      if (target === undefined) return []
      return [{ path: `model.layers.${index}.${ModelConfig.linearPath(name)}`, target, outputs: target.outputs }]
    })
  ),
  ...(adapter.head === undefined
    ? []
    : [{ path: "lm_head", target: adapter.head, outputs: model.vocabularySize }])
]

const targetsOf = (adapter: AdapterLayout): ReadonlyArray<Target> => [
  ...adapter.layers.flatMap((layer) => ModelConfig.linearNames.flatMap((name) => layer[name] ?? [])),
  ...(adapter.head === undefined ? [] : [adapter.head])
]

/** Initializes a parameter block: A is uniform in ±1/√inputs, drawn with `uniform` (values in [0, 1)); B is zero. */
export const initialize = (
  memory: Memory.Memory,
  adapter: AdapterLayout,
  parameters: Memory.Address,
  uniform: () => number
): void => {
  const block = Memory.floats(memory, parameters, adapter.parameterFloats)
  block.fill(0)
  for (const { a, inputs } of targetsOf(adapter)) {
    const bound = 1 / Math.sqrt(inputs)
    for (let i = 0; i < inputs; i++) {
      for (let j = 0; j < adapter.rank; j++) block[a + i * adapter.paddedRank + j] = (2 * uniform() - 1) * bound
    }
  }
}

/** Writes the packed blocks from the current parameters. Must be called after each parameter change and for each snapshot. */
export const pack = (kernels: Kernels, parameters: Memory.Address, packed: PackedAdapter): void => {
  const { alpha, paddedRank, rank } = packed.layout
  const scale = alpha / rank
  for (const target of targetsOf(packed.layout)) {
    const a = parameters + target.a * 4
    const b = parameters + target.b * 4
    kernels.packRows(packed.forward + target.packedA * 4, a, target.inputs, paddedRank, target.inputs, scale)
    kernels.packRows(packed.forward + target.packedB * 4, b, paddedRank, target.outputs, paddedRank, 1)
    if (packed.backward === 0) continue
    kernels.packColumns(packed.backward + target.transposedA * 4, a, paddedRank, target.inputs, 1)
    kernels.packColumns(packed.backward + target.transposedB * 4, b, target.outputs, paddedRank, scale)
  }
}
