/** The attention half of a layer: out = x + output(attention(norm(x))). */
import type { Address } from "../numerics/Memory.ts"
import * as Memory from "../numerics/Memory.ts"
import type { Batch, SequenceBatch } from "./Batch.ts"
import type { Compute } from "./Compute.ts"
import type { Gradients } from "./Gradients.ts"
import * as Linear from "./Linear.ts"
import * as ModelConfig from "./ModelConfig.ts"
import type { LayerWeights } from "./Weights.ts"

/** Values that the backward pass reads again; keys and values stay in the cache. */
export interface AttentionRecord {
  readonly x: Address
  readonly inverseRoot: Address
  readonly rawQuery: Address
  readonly rawKey: Address
  readonly queryInverseRoot: Address
  readonly keyInverseRoot: Address
  readonly query: Address
  readonly attended: Address
  readonly maximumAndSum: Address
}

const allocate = (compute: Compute, x: Address, rows: number): AttentionRecord => {
  const { arena, config } = compute
  const rawQuery = arena.allocate(rows * ModelConfig.querySize(config))
  const rawKey = arena.allocate(rows * ModelConfig.keySize(config))
  return {
    x,
    inverseRoot: arena.allocate(rows),
    rawQuery,
    rawKey,
    queryInverseRoot: arena.allocate(rows * config.heads),
    keyInverseRoot: arena.allocate(rows * config.keyHeads),
    query: ModelConfig.hasHeadNorms(config) ? arena.allocate(rows * ModelConfig.querySize(config)) : rawQuery,
    attended: arena.allocate(rows * ModelConfig.querySize(config)),
    maximumAndSum: arena.allocate(rows * config.heads * 2)
  }
}

/** Rotated queries into the record, rotated keys and values into the cache. */
const project = (
  compute: Compute,
  batch: Batch,
  index: number,
  layer: LayerWeights,
  kept: AttentionRecord,
  normed: Address
): void => {
  const { arena, config, kernels, weights } = compute
  const { groups, positions, rows } = batch
  const { headSize, heads, keyHeads, normEpsilon } = config
  const size = ModelConfig.keySize(config)
  const value = arena.allocate(rows * size)
  const key = ModelConfig.hasHeadNorms(config) ? arena.allocate(rows * size) : kept.rawKey
  Linear.forward(compute, groups, { layer: index, name: "query" }, kept.rawQuery, normed, rows, 0)
  Linear.forward(compute, groups, { layer: index, name: "key" }, kept.rawKey, normed, rows, 0)
  Linear.forward(compute, groups, { layer: index, name: "value" }, value, normed, rows, 0)
  if (ModelConfig.hasHeadNorms(config)) {
    const norm = (out: Address, x: Address, weight: Address, root: Address, count: number) =>
      kernels.normForward(out, x, weight, root, rows * count, headSize, normEpsilon)
    norm(kept.query, kept.rawQuery, layer.queryNorm, kept.queryInverseRoot, heads)
    norm(key, kept.rawKey, layer.keyNorm, kept.keyInverseRoot, keyHeads)
  }
  kernels.rotate(kept.query, positions, weights.cosine, weights.sine, rows, heads, headSize, 1)
  kernels.rotate(key, positions, weights.cosine, weights.sine, rows, keyHeads, headSize, 1)
  const offset = index * batch.cache.layerStride
  kernels.storeRows(key, batch.bases, offset, positions, rows, size)
  kernels.storeRows(value, batch.bases, offset + batch.cache.valueOffset, positions, rows, size)
}

/** Writes x plus the attention's result to `out` and returns the record for a backward pass, all in the arena. */
export const forward = (
  compute: Compute,
  batch: Batch,
  index: number,
  layer: LayerWeights,
  out: Address,
  x: Address
): AttentionRecord => {
  const { arena, config, kernels, memory } = compute
  const { headSize, heads, hiddenSize, keyHeads, normEpsilon } = config
  const { rows } = batch
  const kept = allocate(compute, x, rows)
  const mark = arena.mark()
  const normed = arena.allocate(rows * hiddenSize)
  kernels.normForward(normed, x, layer.inputNorm, kept.inverseRoot, rows, hiddenSize, normEpsilon)
  project(compute, batch, index, layer, kept, normed)
  const offset = index * batch.cache.layerStride
  kernels.attentionForward(
    kept.attended,
    kept.query,
    batch.bases,
    offset,
    offset + batch.cache.valueOffset,
    batch.positions,
    rows,
    heads,
    keyHeads,
    headSize,
    1 / Math.sqrt(headSize),
    arena.allocate(batch.longest + 4),
    kept.maximumAndSum
  )
  Memory.floats(memory, out, rows * hiddenSize).set(Memory.floats(memory, x, rows * hiddenSize))
  Linear.forward(compute, batch.groups, { layer: index, name: "output" }, out, kept.attended, rows, 1)
  arena.reset(mark)
  return kept
}

interface ProjectionGradients {
  readonly query: Address
  readonly key: Address
  readonly value: Address
}

/** From the gradient of the attended values to that of queries, keys and values as the matrices gave them. */
const attend = (
  compute: Compute,
  batch: SequenceBatch,
  index: number,
  layer: LayerWeights,
  kept: AttentionRecord,
  d: ProjectionGradients,
  dAttended: Address,
  gradients: Gradients
): void => {
  const { arena, config, kernels, memory, weights } = compute
  const { headSize, heads, keyHeads } = config
  const querySize = ModelConfig.querySize(config)
  const keySize = ModelConfig.keySize(config)
  Memory.floats(memory, d.key, batch.rows * keySize).fill(0)
  Memory.floats(memory, d.value, batch.rows * keySize).fill(0)
  const scratch = arena.allocate(2 * (batch.longest + 4))
  const keys = batch.base + index * batch.cache.layerStride
  const scale = 1 / Math.sqrt(headSize)
  for (const { length, start } of batch.sequences) {
    const q = start * querySize * 4
    const k = start * keySize * 4
    kernels.attentionBackward(
      d.query + q,
      d.key + k,
      d.value + k,
      dAttended + q,
      kept.attended + q,
      kept.query + q,
      keys + k,
      keys + batch.cache.valueOffset + k,
      length,
      heads,
      keyHeads,
      headSize,
      scale,
      kept.maximumAndSum + start * heads * 8,
      scratch
    )
  }
  kernels.rotate(d.query, batch.positions, weights.cosine, weights.sine, batch.rows, heads, headSize, -1)
  kernels.rotate(d.key, batch.positions, weights.cosine, weights.sine, batch.rows, keyHeads, headSize, -1)
  if (!ModelConfig.hasHeadNorms(config)) return
  const base = gradients.base?.layers[index]
  const norm = (dx: Address, x: Address, weight: Address, root: Address, count: number, dWeight: Address) =>
    kernels.normBackward(dx, dx, x, weight, root, batch.rows * count, headSize, dWeight, 0)
  norm(d.query, kept.rawQuery, layer.queryNorm, kept.queryInverseRoot, heads, base?.queryNorm ?? 0)
  norm(d.key, kept.rawKey, layer.keyNorm, kept.keyInverseRoot, keyHeads, base?.keyNorm ?? 0)
}

/** Turns the gradient of the half's result into that of its input, in place. */
export const backward = (
  compute: Compute,
  batch: SequenceBatch,
  index: number,
  layer: LayerWeights,
  kept: AttentionRecord,
  dx: Address,
  gradients: Gradients
): void => {
  const { arena, config, kernels } = compute
  const { hiddenSize, normEpsilon } = config
  const { rows } = batch
  const mark = arena.mark()
  const dAttended = arena.allocate(rows * ModelConfig.querySize(config))
  const d: ProjectionGradients = {
    query: arena.allocate(rows * ModelConfig.querySize(config)),
    key: arena.allocate(rows * ModelConfig.keySize(config)),
    value: arena.allocate(rows * ModelConfig.keySize(config))
  }
  const normed = arena.allocate(rows * hiddenSize)
  const dNormed = arena.allocate(rows * hiddenSize)
  Linear.backward(compute, gradients, { layer: index, name: "output" }, dAttended, dx, kept.attended, rows, 0)
  attend(compute, batch, index, layer, kept, d, dAttended, gradients)
  kernels.normForward(normed, kept.x, layer.inputNorm, kept.inverseRoot, rows, hiddenSize, normEpsilon)
  Linear.backward(compute, gradients, { layer: index, name: "query" }, dNormed, d.query, normed, rows, 0)
  Linear.backward(compute, gradients, { layer: index, name: "key" }, dNormed, d.key, normed, rows, 1)
  Linear.backward(compute, gradients, { layer: index, name: "value" }, dNormed, d.value, normed, rows, 1)
  const dNorm = gradients.base?.layers[index]?.inputNorm ?? 0
  kernels.normBackward(dx, dNormed, kept.x, layer.inputNorm, kept.inverseRoot, rows, hiddenSize, dNorm, 1)
  arena.reset(mark)
}
