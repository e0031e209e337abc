/** All layers over a batch. */
import type { Address } from "../numerics/Memory.ts"
import * as TensorType from "../numerics/TensorType.ts"
import * as Attention from "./Attention.ts"
import type { Batch } from "./Batch.ts"
import type { Compute } from "./Compute.ts"
import * as FeedForward from "./FeedForward.ts"
import type { LayerWeights } from "./Weights.ts"

/** What the backward pass reads again of one layer. */
export interface LayerRecord {
  readonly attention: Attention.AttentionRecord
  readonly feedForward: FeedForward.FeedForwardRecord
}

const embed = ({ arena, config, kernels, weights }: Compute, batch: Batch): Address => {
  const x = arena.allocate(batch.rows * config.hiddenSize)
  const { embedding } = weights
  if (embedding._tag === "Panels") {
    kernels.gatherPanels(x, embedding.forward, batch.ids, batch.rows, config.hiddenSize)
    return x
  }
  const type = TensorType.idOf(embedding.type)
  const rowBytes = TensorType.bytesOf(embedding.type, config.hiddenSize)
  kernels.gatherStored(x, embedding.rows, type, rowBytes, batch.ids, batch.rows, config.hiddenSize)
  return x
}

const layerForward = (
  compute: Compute,
  batch: Batch,
  index: number,
  layer: LayerWeights,
  out: Address,
  x: Address
): LayerRecord => {
  const between = compute.arena.allocate(batch.rows * compute.config.hiddenSize)
  const attention = Attention.forward(compute, batch, index, layer, between, x)
  return { attention, feedForward: FeedForward.forward(compute, batch, index, layer, out, between) }
}

/** The hidden rows `[rows, hiddenSize]` before the final norm; fills the caches and keeps nothing else. */
export const run = (compute: Compute, batch: Batch): Address => {
  const { arena, config, weights } = compute
  let x = embed(compute, batch)
  let out = arena.allocate(batch.rows * config.hiddenSize)
  weights.layers.forEach((layer, index) => {
    const mark = arena.mark()
    layerForward(compute, batch, index, layer, out, x)
    arena.reset(mark)
    const spare = x
    x = out
    out = spare
  })
  return x
}

/** `run` that keeps what `Backward.run` needs. */
export const record = (
  compute: Compute,
  batch: Batch
): { readonly x: Address; readonly layers: ReadonlyArray<LayerRecord> } => {
  const { arena, config, weights } = compute
  let x = embed(compute, batch)
  const layers = weights.layers.map((layer, index) => {
    const out = arena.allocate(batch.rows * config.hiddenSize)
    const kept = layerForward(compute, batch, index, layer, out, x)
    x = out
    return kept
  })
  return { x, layers }
}
