/** The frozen base model, packed once into the form the matrix kernels read. */
import type { Kernels } from "../numerics/Kernels.ts"
import * as Memory from "../numerics/Memory.ts"
import * as ModelConfig from "./ModelConfig.ts"

/** Panels of W for y = x·W, and of Wᵀ for dx = dy·Wᵀ. */
export interface Linear {
  readonly inputs: number
  readonly outputs: number
  readonly forward: Memory.Address
  readonly backward: Memory.Address
}

export interface LayerWeights extends Readonly<Record<ModelConfig.LinearName, Linear>> {
  readonly inputNorm: Memory.Address
  readonly feedForwardNorm: Memory.Address
  /** 0 in a model without head norms, as is `keyNorm`. */
  readonly queryNorm: Memory.Address
  readonly keyNorm: Memory.Address
}

/** Plain data, so that it can be posted to workers. */
export interface Weights {
  readonly precision: "f32" | "bf16"
  /** Panels [hiddenSize, vocabulary] that rows are gathered from: the head's own when the embeddings are tied. */
  readonly embedding: Memory.Address
  readonly head: Linear
  readonly finalNorm: Memory.Address
  readonly layers: ReadonlyArray<LayerWeights>
  /** `[contextLength, headSize/2]` each. */
  readonly cosine: Memory.Address
  readonly sine: Memory.Address
}

/** Above this many weights two f32 packs no longer fit comfortably beside everything else. */
const largestInF32 = 64_000_000

export const precisionFor = (config: ModelConfig.ModelConfig): Weights["precision"] =>
  ModelConfig.parameterCount(config) > largestInF32 ? "bf16" : "f32"

const allocateLinear = (
  allocator: Memory.Allocator,
  precision: Weights["precision"],
  [inputs, outputs]: readonly [number, number]
): Linear => {
  const size = precision === "f32" ? inputs * outputs : inputs * outputs / 2
  return { inputs, outputs, forward: allocator.allocate(size), backward: allocator.allocate(size) }
}

const allocateLayer = (
  allocator: Memory.Allocator,
  precision: Weights["precision"],
  config: ModelConfig.ModelConfig
): LayerWeights => {
  const linear = (name: ModelConfig.LinearName) =>
    allocateLinear(allocator, precision, ModelConfig.linearShape(config, name))
  const headNorm = () => ModelConfig.hasHeadNorms(config) ? allocator.allocate(config.headSize) : 0
  return {
    inputNorm: allocator.allocate(config.hiddenSize),
    feedForwardNorm: allocator.allocate(config.hiddenSize),
    queryNorm: headNorm(),
    keyNorm: headNorm(),
    query: linear("query"),
    key: linear("key"),
    value: linear("value"),
    output: linear("output"),
    gate: linear("gate"),
    up: linear("up"),
    down: linear("down")
  }
}

const fillRotary = (memory: Memory.Memory, config: ModelConfig.ModelConfig, cosine: number, sine: number): void => {
  const half = config.headSize / 2
  const cosines = Memory.floats(memory, cosine, config.contextLength * half)
  const sines = Memory.floats(memory, sine, config.contextLength * half)
  for (let i = 0; i < half; i++) {
    const frequency = Math.pow(config.ropeTheta, -2 * i / config.headSize)
    for (let position = 0; position < config.contextLength; position++) {
      cosines[position * half + i] = Math.cos(position * frequency)
      sines[position * half + i] = Math.sin(position * frequency)
    }
  }
}

const place = (
  allocator: Memory.Allocator,
  config: ModelConfig.ModelConfig,
  precision: Weights["precision"]
): Weights => {
  const shape = [config.hiddenSize, ModelConfig.paddedVocabulary(config)] as const
  const head = allocateLinear(allocator, precision, shape)
  const table = config.contextLength * config.headSize / 2
  return {
    precision,
    head,
    embedding: config.tiedEmbeddings
      ? head.forward
      : allocator.allocate(precision === "f32" ? shape[0] * shape[1] : shape[0] * shape[1] / 2),
    finalNorm: allocator.allocate(config.hiddenSize),
    layers: Array.from({ length: config.layers }, () => allocateLayer(allocator, precision, config)),
    cosine: allocator.allocate(table),
    sine: allocator.allocate(table)
  }
}

/** Reserves room for a model and fills its rotary tables; `slots` then says where each tensor goes. */
export const allocate = (
  memory: Memory.Memory,
  allocator: Memory.Allocator,
  config: ModelConfig.ModelConfig,
  precision: Weights["precision"] = precisionFor(config)
): Weights => {
  const weights = place(allocator, config, precision)
  fillRotary(memory, config, weights.cosine, weights.sine)
  return weights
}

/** Bytes that the packed weights of a model take. */
export const bytes = (config: ModelConfig.ModelConfig): number => {
  const counter = Memory.counter()
  place(counter, config, precisionFor(config))
  return counter.bytes()
}

/**
 * A tensor of the model under its Hugging Face name and shape, `[outputs, inputs]` for a matrix.
 *
 * `pack` takes `rows` consecutive rows as f32, from `firstRow` on. Pieces start at multiples of 8; the memory behind a
 * last piece that is not one must hold zeros up to the next multiple.
 */
export interface Slot {
  readonly name: string
  readonly shape: readonly [number] | readonly [number, number]
  readonly pack: (kernels: Kernels, source: Memory.Address, firstRow: number, rows: number) => void
}

const matrixSlot = (name: string, precision: Weights["precision"], linear: Linear, rows = linear.outputs): Slot => {
  const { backward, forward, inputs, outputs } = linear
  return {
    name,
    shape: [rows, inputs],
    pack: (kernels, source, firstRow, count) => {
      const padded = Math.ceil(count / 8) * 8
      if (precision === "f32") {
        kernels.packColumns(forward + firstRow * inputs * 4, source, inputs, padded, 1)
        if (backward !== 0) kernels.packRows(backward + firstRow * 32, source, padded, inputs, outputs, 1)
      } else {
        kernels.packColumnsBf16(forward + firstRow * inputs * 2, source, inputs, padded)
        if (backward !== 0) kernels.packRowsBf16(backward + firstRow * 16, source, padded, inputs, outputs)
      }
    }
  }
}

const vectorSlot = (memory: Memory.Memory, name: string, address: Memory.Address, size: number): Slot => ({
  name,
  shape: [size],
  pack: (_kernels, source) => {
    Memory.floats(memory, address, size).set(Memory.floats(memory, source, size))
  }
})

const layerSlots = (
  memory: Memory.Memory,
  config: ModelConfig.ModelConfig,
  weights: Weights,
  layer: LayerWeights,
  index: number
): ReadonlyArray<Slot> => {
  const path = `model.layers.${index}`
  const norm = (name: string, address: Memory.Address, size: number) =>
    vectorSlot(memory, `${path}.${name}.weight`, address, size)
  return [
    norm("input_layernorm", layer.inputNorm, config.hiddenSize),
    norm("post_attention_layernorm", layer.feedForwardNorm, config.hiddenSize),
    ...(ModelConfig.hasHeadNorms(config)
      ? [
        norm("self_attn.q_norm", layer.queryNorm, config.headSize),
        norm("self_attn.k_norm", layer.keyNorm, config.headSize)
      ]
      : []),
    ...ModelConfig.linearNames.map((name) =>
      matrixSlot(`${path}.${ModelConfig.linearPath(name)}.weight`, weights.precision, layer[name])
    )
  ]
}

/** Every tensor the model is made of and how it enters the packs. */
export const slots = (
  memory: Memory.Memory,
  config: ModelConfig.ModelConfig,
  weights: Weights
): ReadonlyArray<Slot> => {
  const { precision } = weights
  const embedding = "model.embed_tokens.weight"
  const head = matrixSlot(
    config.tiedEmbeddings ? embedding : "lm_head.weight",
    precision,
    weights.head,
    config.vocabularySize
  )
  const separate = { ...weights.head, forward: weights.embedding, backward: 0 }
  return [
    ...(config.tiedEmbeddings ? [] : [matrixSlot(embedding, precision, separate, config.vocabularySize)]),
    head,
    vectorSlot(memory, "model.norm.weight", weights.finalNorm, config.hiddenSize),
    ...weights.layers.flatMap((layer, index) => layerSlots(memory, config, weights, layer, index))
  ]
}
