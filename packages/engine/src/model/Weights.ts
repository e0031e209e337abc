/** The frozen base model's weights in shared memory. */
import type { Kernels } from "../numerics/Kernels.ts"
import * as Memory from "../numerics/Memory.ts"
import * as TensorType from "../numerics/TensorType.ts"
import * as ModelConfig from "./ModelConfig.ts"

/** f32 panels of W for y = x·W and of Wᵀ for dx = dy·Wᵀ; the fastest storage for multiplication. */
export interface Panels {
  readonly _tag: "Panels"
  readonly forward: Memory.Address
  readonly backward: Memory.Address
}

/** The rows `[outputs, inputs]` of the model file in their stored type: the smallest storage, and exact. Kernels dequantize them. */
export interface Stored {
  readonly _tag: "Stored"
  readonly type: TensorType.TensorType
  readonly rows: Memory.Address
}

export type Matrix = Panels | Stored

export interface Linear {
  readonly inputs: number
  readonly outputs: number
  readonly matrix: Matrix
  /** 0 for a matrix without a bias. */
  readonly bias: Memory.Address
}

export interface LayerWeights extends Readonly<Record<ModelConfig.LinearName, Linear>> {
  readonly inputNorm: Memory.Address
  readonly feedForwardNorm: Memory.Address
  /** 0 in a model without head norms; the same holds for `keyNorm`. */
  readonly queryNorm: Memory.Address
  readonly keyNorm: Memory.Address
}

/** The addresses of a model's weights: plain data that can be posted to workers. */
export interface Weights {
  /** The matrix from which token rows are gathered; the head's matrix if the embeddings are tied. */
  readonly embedding: Matrix
  readonly head: Linear
  readonly finalNorm: Memory.Address
  readonly layers: ReadonlyArray<LayerWeights>
  /** Rotary tables; each has shape `[contextLength, headSize/2]`. */
  readonly cosine: Memory.Address
  readonly sine: Memory.Address
}

/** How a matrix is stored: as f32 panels, or as the model file's rows in the given type. */
export type Storage = "panels" | TensorType.TensorType

/** The storage of each matrix, by its Hugging Face name. */
export type StorageOf = (tensor: string) => Storage

/** Above this number of weights, two f32 panels per matrix leave too little memory for everything else. */
const largestInPanels = 64_000_000

/** Whether the model is small enough for storage as panels. */
export const fitsPanels = (config: ModelConfig.ModelConfig): boolean =>
  ModelConfig.parameterCount(config) <= largestInPanels

/** Stores a small model as panels and a large model in the types of its file. Neither storage rounds a weight. */
export const storageFor = (
  config: ModelConfig.ModelConfig,
  typeOf: (tensor: string) => TensorType.TensorType
): StorageOf => fitsPanels(config) ? () => "panels" : typeOf

const embeddingName = "model.embed_tokens.weight"

/** The name of the tensor that holds the LM head. */
const headName = (config: ModelConfig.ModelConfig) => config.tiedEmbeddings ? embeddingName : "lm_head.weight"

const layerPath = (index: number) => `model.layers.${index}`

const linearPath = (index: number, name: ModelConfig.LinearName) =>
  `${layerPath(index)}.${ModelConfig.linearPath(name)}`

const allocateMatrix = (
  allocator: Memory.Allocator,
  storage: Storage,
  [inputs, outputs]: readonly [number, number],
  isMultiplied = true
): Matrix => {
  const count = inputs * outputs
  if (storage !== "panels") {
    return { _tag: "Stored", type: storage, rows: allocator.allocate(TensorType.bytesOf(storage, count) / 4) }
  }
  const forward = allocator.allocate(count)
  return { _tag: "Panels", forward, backward: isMultiplied ? allocator.allocate(count) : 0 }
}

const allocateLayer = (
  allocator: Memory.Allocator,
  storageOf: StorageOf,
  config: ModelConfig.ModelConfig,
  index: number
): LayerWeights => {
  const linear = (name: ModelConfig.LinearName): Linear => {
    const shape = ModelConfig.linearShape(config, name)
    const [inputs, outputs] = shape
    return {
      inputs,
      outputs,
      matrix: allocateMatrix(allocator, storageOf(`${linearPath(index, name)}.weight`), shape),
      bias: ModelConfig.hasBias(config, name) ? allocator.allocate(outputs) : 0
    }
  }
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
    const frequency = Math.pow(config.ropeTheta, -2 * i / config.headSize) / (config.ropeDivisors?.[i] ?? 1)
    for (let position = 0; position < config.contextLength; position++) {
      cosines[position * half + i] = Math.cos(position * frequency)
      sines[position * half + i] = Math.sin(position * frequency)
    }
  }
}

const place = (allocator: Memory.Allocator, config: ModelConfig.ModelConfig, storageOf: StorageOf): Weights => {
  const shape = [config.hiddenSize, ModelConfig.paddedVocabulary(config)] as const
  const [inputs, outputs] = shape
  const matrix = allocateMatrix(allocator, storageOf(headName(config)), shape)
  const table = config.contextLength * config.headSize / 2
  return {
    head: { inputs, outputs, matrix, bias: 0 },
    embedding: config.tiedEmbeddings ? matrix : allocateMatrix(allocator, storageOf(embeddingName), shape, false),
    finalNorm: allocator.allocate(config.hiddenSize),
    layers: Array.from({ length: config.layers }, (_, index) => allocateLayer(allocator, storageOf, config, index)),
    cosine: allocator.allocate(table),
    sine: allocator.allocate(table)
  }
}

/** Reserves memory for a model and fills its rotary tables. `slots` then describes where each tensor is written. */
export const allocate = (
  memory: Memory.Memory,
  allocator: Memory.Allocator,
  config: ModelConfig.ModelConfig,
  storageOf: StorageOf
): Weights => {
  const weights = place(allocator, config, storageOf)
  fillRotary(memory, config, weights.cosine, weights.sine)
  return weights
}

/** The bytes that a model's weights take. */
export const bytes = (config: ModelConfig.ModelConfig, storageOf: StorageOf): number => {
  const counter = Memory.counter()
  place(counter, config, storageOf)
  return counter.bytes()
}

/** A place that takes the rows' bytes unchanged. The padding after the last row must be filled with zeros. */
export interface StoredSlot {
  readonly _tag: "Stored"
  readonly type: TensorType.TensorType
  readonly rows: Memory.Address
  /** Bytes of zeros after the rows. */
  readonly padding: number
}

/**
 * A place whose `pack` takes `rows` consecutive rows as f32, starting at `firstRow`, a multiple of 8. If the last piece does not end at a
 * multiple of 8 rows, the source memory after it must hold zeros up to the next multiple.
 */
export interface PackedSlot {
  readonly _tag: "Packed"
  readonly pack: (kernels: Kernels, source: Memory.Address, firstRow: number, rows: number) => void
}

/** A tensor with its Hugging Face name and shape; a matrix has shape `[outputs, inputs]`. */
export interface Slot {
  readonly name: string
  readonly shape: readonly [number] | readonly [number, number]
  readonly place: StoredSlot | PackedSlot
}

const matrixPlace = (matrix: Matrix, inputs: number, outputs: number, rows: number): Slot["place"] => {
  if (matrix._tag === "Stored") {
    const { rows: address, type } = matrix
    return { _tag: "Stored", type, rows: address, padding: TensorType.bytesOf(type, (outputs - rows) * inputs) }
  }
  const { backward, forward } = matrix
  return {
    _tag: "Packed",
    pack: (kernels, source, firstRow, count) => {
      const padded = Math.ceil(count / 8) * 8
      kernels.packColumns(forward + firstRow * inputs * 4, source, inputs, padded, 1)
      if (backward !== 0) kernels.packRows(backward + firstRow * 32, source, padded, inputs, outputs, 1)
    }
  }
}

const vectorSlot = (name: string, address: Memory.Address, size: number): Slot => ({
  name,
  shape: [size],
  place: {
    _tag: "Packed",
    pack: (kernels, source) => kernels.dequantize(address, source, TensorType.idOf("F32"), size)
  }
})

const linearSlots = (path: string, { bias, inputs, matrix, outputs }: Linear): ReadonlyArray<Slot> => [
  {
    name: `${path}.weight`,
    shape: [outputs, inputs],
    place: matrixPlace(matrix, inputs, outputs, outputs)
  },
  ...(bias === 0 ? [] : [vectorSlot(`${path}.bias`, bias, outputs)])
]

const layerSlots = (config: ModelConfig.ModelConfig, layer: LayerWeights, index: number): ReadonlyArray<Slot> => {
  const norm = (name: string, address: Memory.Address, size: number) =>
    vectorSlot(`${layerPath(index)}.${name}.weight`, address, size)
  return [
    norm("input_layernorm", layer.inputNorm, config.hiddenSize),
    norm("post_attention_layernorm", layer.feedForwardNorm, config.hiddenSize),
    ...(ModelConfig.hasHeadNorms(config)
      ? [
        norm("self_attn.q_norm", layer.queryNorm, config.headSize),
        norm("self_attn.k_norm", layer.keyNorm, config.headSize)
      ]
      : []),
    ...ModelConfig.linearNames.flatMap((name) => linearSlots(linearPath(index, name), layer[name]))
  ]
}

/** Every tensor of the model, and how it is written into memory. */
export const slots = (config: ModelConfig.ModelConfig, weights: Weights): ReadonlyArray<Slot> => {
  const { vocabularySize } = config
  const slot = (name: string, matrix: Matrix): Slot => ({
    name,
    shape: [vocabularySize, config.hiddenSize],
    place: matrixPlace(matrix, config.hiddenSize, weights.head.outputs, vocabularySize)
  })
  return [
    ...(config.tiedEmbeddings ? [] : [slot(embeddingName, weights.embedding)]),
    slot(headName(config), weights.head.matrix),
    vectorSlot("model.norm.weight", weights.finalNorm, config.hiddenSize),
    ...weights.layers.flatMap((layer, index) => layerSlots(config, layer, index))
  ]
}

/** The names and shapes of a model's tensors. */
export const tensors = (config: ModelConfig.ModelConfig): ReadonlyArray<Pick<Slot, "name" | "shape">> =>
  slots(config, place(Memory.counter(), config, () => "panels"))
