/** The forward pass: all layers of the model on a batch. */
import type { Address } from "../numerics/Memory.ts"
import * as TensorType from "../numerics/TensorType.ts"
import * as Attention from "./Attention.ts"
import * as Batch from "./Batch.ts"
import type { Compute } from "./Compute.ts"
import * as FeedForward from "./FeedForward.ts"
import type { LayerWeights } from "./Weights.ts"

/** Values of one layer that are kept for the backward pass. */
export interface LayerRecord {
  readonly attention: Attention.AttentionRecord
  readonly feedForward: FeedForward.FeedForwardRecord
}

const embed = ({ arena, config, kernels, weights }: Compute, batch: Batch.Batch): Address => {
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

/** Computes one layer. Later layers need the keys and values of all rows; after the last layer only some rows are read. */
const layerForward = (
  compute: Compute,
  batch: Batch.Batch,
  index: number,
  layer: LayerWeights,
  out: Address,
  x: Address
): LayerRecord => {
  const span = index === compute.config.layers - 1 ? batch.read : Batch.whole(batch)
  const between = compute.arena.allocate(batch.rows * compute.config.hiddenSize)
  const attention = Attention.forward(compute, batch, index, layer, span, between, x)
  return { attention, feedForward: FeedForward.forward(compute, batch, index, layer, span, out, between) }
}

/**
 * Computes the hidden rows `[rows, hiddenSize]` before the final norm and fills the caches. Only rows that are read are set. Keeps no
 * records.
 */
export const run = (compute: Compute, batch: Batch.Batch): Address => {
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

/** The result of a forward pass that `Backward.run` can follow. */
export interface Recorded {
  readonly x: Address
  /** The record of a layer, kept or recomputed in the arena. */
  readonly layer: (index: number) => LayerRecord
}

/** Like `run`, but keeps the records of all layers. */
const keep = (compute: Compute, batch: Batch.Batch): Recorded => {
  const { arena, config, weights } = compute
  let x = embed(compute, batch)
  const layers = weights.layers.map((layer, index) => {
    const out = arena.allocate(batch.rows * config.hiddenSize)
    const kept = layerForward(compute, batch, index, layer, out, x)
    x = out
    return kept
  })
  return { x, layer: (index) => at(layers, index) }
}

/** Like `run`, but keeps the input of each layer, from which a layer's record is recomputed: a third more computation, but less memory. */
const recompute = (compute: Compute, batch: Batch.Batch): Recorded => {
  const { arena, config, weights } = compute
  const inputs = [embed(compute, batch)]
  weights.layers.forEach((layer, index) => {
    const out = arena.allocate(batch.rows * config.hiddenSize)
    const mark = arena.mark()
    layerForward(compute, batch, index, layer, out, at(inputs, index))
    arena.reset(mark)
    inputs.push(out)
  })
  return {
    x: at(inputs, weights.layers.length),
    layer: (index) => {
      const out = arena.allocate(batch.rows * config.hiddenSize)
      return layerForward(compute, batch, index, at(weights.layers, index), out, at(inputs, index))
    }
  }
}

const at = <A>(layers: ReadonlyArray<A>, index: number): A => {
  const found = layers[index]
  if (found === undefined) throw new RangeError(`a model of ${layers.length} layers has no layer ${index}`)
  return found
}

/** Whether the forward pass keeps the records for the backward pass, or they are recomputed layer by layer. */
export type Records = "kept" | "recomputed"

/** Like `run`, for a following backward pass. Recomputed records require a cache that all layers share. */
export const record = (compute: Compute, batch: Batch.Batch, records: Records): Recorded =>
  records === "kept" ? keep(compute, batch) : recompute(compute, batch)
