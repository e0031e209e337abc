/** The base weights as one trainable block, for pretraining. Adapter training leaves them frozen. */
import type { Kernels } from "../numerics/Kernels.ts"
import type { Address } from "../numerics/Memory.ts"
import type { BaseGradients } from "./Gradients.ts"
import * as ModelConfig from "./ModelConfig.ts"
import type { Slot } from "./Weights.ts"

/** Offsets in floats from the start of a block. Gradients and optimizer moments use the same layout. */
export interface BaseLayout {
  readonly tensors: ReadonlyArray<{ readonly slot: Slot; readonly offset: number; readonly size: number }>
  readonly floats: number
}

const rowsOf = ({ shape }: Slot): number => shape.length === 1 ? 1 : shape[0]

/** Lays out tensors consecutively. Matrix rows are zero-padded to a multiple of 8 rows, as packing requires. */
export const layout = (slots: ReadonlyArray<Slot>): BaseLayout => {
  let floats = 0
  const tensors = slots.map((slot) => {
    const [first, columns = 1] = slot.shape
    const offset = floats
    floats += Math.ceil(first / 8) * 8 * columns
    return { slot, offset, size: first * columns }
  })
  return { tensors, floats }
}

export const pack = (kernels: Kernels, { tensors }: BaseLayout, block: Address): void => {
  for (const { offset, slot } of tensors) {
    if (slot.place._tag === "Stored") {
      throw new RangeError(`${slot.name} is stored in its file's type and cannot be trained`)
    }
    slot.place.pack(kernels, block + offset * 4, 0, rowsOf(slot))
  }
}

/** The addresses at which a backward pass accumulates gradients, in a block of this layout. */
export const gradientsAt = (
  config: ModelConfig.ModelConfig,
  { tensors }: BaseLayout,
  block: Address
): BaseGradients => {
  const places = new Map(tensors.map(({ offset, slot }) => [slot.name, block + offset * 4]))
  const at = (name: string): Address => places.get(name) ?? 0
  const embedding = at("model.embed_tokens.weight")
  return {
    embedding,
    head: config.tiedEmbeddings ? embedding : at("lm_head.weight"),
    finalNorm: at("model.norm.weight"),
    layers: Array.from({ length: config.layers }, (_, index) => {
      const inLayer = (path: string) => at(`model.layers.${index}.${path}.weight`)
      const linear = (name: ModelConfig.LinearName) => inLayer(ModelConfig.linearPath(name))
      return {
        inputNorm: inLayer("input_layernorm"),
        feedForwardNorm: inLayer("post_attention_layernorm"),
        queryNorm: inLayer("self_attn.q_norm"),
        keyNorm: inLayer("self_attn.k_norm"),
        query: linear("query"),
        key: linear("key"),
        value: linear("value"),
        output: linear("output"),
        gate: linear("gate"),
        up: linear("up"),
        down: linear("down")
      }
    })
  }
}
