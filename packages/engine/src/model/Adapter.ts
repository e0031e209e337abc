/**
 * A low-rank adapter: y = x·W + (alpha/rank)·(x·A)·B beside every chosen matrix, with A [inputs, rank], B [rank, outputs].
 *
 * All factors lie in one block, so that gradients, optimizer moments and snapshots are blocks of the same layout and an
 * optimizer step is one kernel call. Ranks are padded to a multiple of 8 with columns and rows that stay zero.
 */
import type { Kernels } from "../numerics/Kernels.ts"
import * as Memory from "../numerics/Memory.ts"
import * as ModelConfig from "./ModelConfig.ts"

export interface AdapterConfig {
  readonly rank: number
  /** Default 32. */
  readonly alpha?: number
  /** Default true, as are the other two. */
  readonly trainAttention?: boolean
  readonly trainMlp?: boolean
  /** The LM head, also where it is tied to the embedding: the adapter then acts on the head alone. */
  readonly trainUnembed?: boolean
}

/** Places of one adapted matrix, in floats from the start of each block. */
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

/** Plain data, so that it can be posted to workers. */
export interface AdapterLayout {
  readonly rank: number
  readonly paddedRank: number
  readonly alpha: number
  readonly layers: ReadonlyArray<Partial<Readonly<Record<ModelConfig.LinearName, Target>>>>
  readonly head: Target | undefined
  /** Size of a block of parameters, of gradients or of one optimizer moment. */
  readonly parameterFloats: number
  /** Size of a block that the forward pass reads. */
  readonly forwardFloats: number
  /** Size of a block that only the backward pass reads. */
  readonly backwardFloats: number
}

/** The blocks of an adapter that passes read. `backward` is 0 where no gradient is computed, as in a snapshot. */
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

/** One adapted matrix under the path Hugging Face gives it. */
export interface NamedTarget {
  readonly path: string
  readonly target: Target
  /** Outputs without padding. */
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

/** Fills a parameter block: A uniform in ±1/√inputs from `uniform` (values in [0, 1)), B zero. */
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

/** Writes the packed blocks of the parameters as they are now: once after each change, and for a snapshot. */
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
