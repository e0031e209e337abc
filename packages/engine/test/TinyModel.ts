/** A small model with seeded random weights, for tests of computations. */
import * as Adapter from "@effect-rl/engine/model/Adapter"
import * as BaseParameters from "@effect-rl/engine/model/BaseParameters"
import type { Compute } from "@effect-rl/engine/model/Compute"
import type { ModelConfig } from "@effect-rl/engine/model/ModelConfig"
import * as Weights from "@effect-rl/engine/model/Weights"
import * as Kernels from "@effect-rl/engine/numerics/Kernels"
import * as Memory from "@effect-rl/engine/numerics/Memory"
import * as TensorType from "@effect-rl/engine/numerics/TensorType"

export const qwen3: ModelConfig = {
  family: "qwen3",
  vocabularySize: 61,
  hiddenSize: 32,
  feedForwardSize: 64,
  layers: 2,
  heads: 4,
  keyHeads: 2,
  headSize: 16,
  biases: [],
  normEpsilon: 1e-6,
  ropeTheta: 10_000,
  contextLength: 64,
  tiedEmbeddings: true
}

export const qwen2: ModelConfig = {
  ...qwen3,
  family: "qwen2",
  biases: ["query", "key", "value"],
  ropeDivisors: [4, 4, 4, 4, 4, 4, 4, 4]
}

export const llama: ModelConfig = { ...qwen3, family: "llama", headSize: 8, keyHeads: 4, tiedEmbeddings: false }

/** Uniform numbers in [0, 1), the same for a seed on every machine. */
export const uniform = (seed: number): () => number => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

export interface TinyModel extends Compute {
  readonly reserver: ReturnType<typeof Memory.reserver>
  readonly base: BaseParameters.BaseLayout
  /** Address of the base weights as one block. `repack` copies it to the memory in which the model computes, in F32 and BF16. */
  readonly block: Memory.Address
  readonly repack: () => void
}

const module = Kernels.compile()

const fill = (view: Float32Array, shape: ReadonlyArray<number>, next: () => number): void => {
  const [, inputs] = shape
  for (let i = 0; i < view.length; i++) {
    view[i] = inputs === undefined ? 0.6 + 0.8 * next() : (2 * next() - 1) * Math.sqrt(3 / inputs)
  }
}

export const make = (
  config: ModelConfig,
  options: {
    /** The stored type of matrices; by default they are panels. */
    readonly stored?: TensorType.TensorType
    readonly seed?: number
    /** Bytes of memory to leave unused before the model. */
    readonly before?: number
  } = {}
): TinyModel => {
  const memory = Memory.make()
  const kernels = Kernels.instantiate(module, memory)
  const reserver = Memory.reserver(memory)
  reserver.reserve(options.before ?? 0)
  const weights = Weights.allocate(memory, reserver, config, () => options.stored ?? "panels")
  const base = BaseParameters.layout(Weights.slots(config, weights))
  const block = reserver.allocate(base.floats)
  const next = uniform(options.seed ?? 3)
  for (const { offset, size, slot } of base.tensors) {
    fill(Memory.floats(memory, block + offset * 4, size), slot.shape, next)
  }
  const repack = () => {
    for (const { offset, slot: { place, shape }, size } of base.tensors) {
      const source = block + offset * 4
      if (place._tag === "Packed") place.pack(kernels, source, 0, shape.length === 1 ? 1 : shape[0])
      else if (place.type === "BF16") kernels.narrowBf16(place.rows, source, size)
      else if (place.type === "F32") kernels.dequantize(place.rows, source, TensorType.idOf("F32"), size)
    }
  }
  repack()
  const arena = Memory.arena(reserver.reserve(16 << 20))
  return { kernels, memory, config, weights, arena, reserver, base, block, repack }
}

export interface TinyAdapter {
  readonly layout: Adapter.AdapterLayout
  readonly packed: Adapter.PackedAdapter
  readonly parameters: Memory.Address
  readonly gradients: Memory.Address
  readonly repack: () => void
}

/** An adapter with a nonzero B, so that every gradient is nonzero. */
export const adapter = (model: TinyModel, config: Adapter.AdapterConfig, seed = 5): TinyAdapter => {
  const { kernels, memory, reserver } = model
  const layout = Adapter.layout(model.config, config)
  const parameters = reserver.allocate(layout.parameterFloats)
  const gradients = reserver.allocate(layout.parameterFloats)
  const packed = {
    layout,
    forward: reserver.allocate(layout.forwardFloats),
    backward: reserver.allocate(layout.backwardFloats)
  }
  const next = uniform(seed)
  Adapter.initialize(memory, layout, parameters, next)
  const block = Memory.floats(memory, parameters, layout.parameterFloats)
  for (const { outputs, target } of Adapter.namedTargets(model.config, layout)) {
    for (let r = 0; r < layout.rank; r++) {
      for (let j = 0; j < outputs; j++) block[target.b + r * target.outputs + j] = (next() - 0.5) * 0.2
    }
  }
  const repack = () => Adapter.pack(kernels, parameters, packed)
  repack()
  return { layout, packed, parameters, gradients, repack }
}

/** Random sequences with the given lengths. */
export const tokens = (
  config: ModelConfig,
  lengths: ReadonlyArray<number>,
  seed: number
): ReadonlyArray<Int32Array> => {
  const next = uniform(seed)
  return lengths.map((length) => Int32Array.from({ length }, () => Math.floor(next() * config.vocabularySize)))
}
