/** The attention half of a layer: out = x + output(attention(norm(x))). */
import type { Address } from "../numerics/Memory.ts"
import * as Memory from "../numerics/Memory.ts"
import * as Batch from "./Batch.ts"
import type { Compute } from "./Compute.ts"
import type { Gradients } from "./Gradients.ts"
import * as Linear from "./Linear.ts"
import * as ModelConfig from "./ModelConfig.ts"
import type { Extent, Span } from "./PrefixTree.ts"
import type { LayerWeights } from "./Weights.ts"

/** Values kept for the backward pass. Keys and values stay in the cache. */
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

/** Addresses of a layer's keys and values. */
const cacheOf = ({ base, cache }: Batch.Batch, index: number) => {
  const keys = base + index * cache.layerStride
  return { keys, values: keys + cache.valueOffset }
}

/** Writes the rotated keys and the values of all rows to the cache. */
const projectKeys = (
  compute: Compute,
  batch: Batch.Batch,
  index: number,
  layer: LayerWeights,
  kept: AttentionRecord,
  normed: Address
): void => {
  const { arena, config, kernels, weights: { cosine, sine } } = compute
  const { groups, positions, rows, segmentCount, segments } = batch
  const { headSize, keyHeads, normEpsilon } = config
  const size = ModelConfig.keySize(config)
  const value = arena.allocate(rows * size)
  const key = ModelConfig.hasHeadNorms(config) ? arena.allocate(rows * size) : kept.rawKey
  Linear.forward(compute, groups, { layer: index, name: "key" }, kept.rawKey, normed, rows, 0)
  Linear.forward(compute, groups, { layer: index, name: "value" }, value, normed, rows, 0)
  if (ModelConfig.hasHeadNorms(config)) {
    const { keyInverseRoot, rawKey } = kept
    kernels.normForward(key, rawKey, layer.keyNorm, keyInverseRoot, rows * keyHeads, headSize, normEpsilon)
  }
  kernels.rotate(key, positions, cosine, sine, rows, keyHeads, headSize, 1)
  const { keys, values } = cacheOf(batch, index)
  kernels.storeRows(keys, key, segments, segmentCount, size)
  kernels.storeRows(values, value, segments, segmentCount, size)
}

/** Writes the rotated queries of the rows in `span` to the record, which starts at the span's first row. */
const projectQueries = (
  compute: Compute,
  { groups, positions }: Batch.Batch,
  index: number,
  layer: LayerWeights,
  { start, end }: Span,
  kept: AttentionRecord,
  normed: Address
): void => {
  const { config, kernels, weights: { cosine, sine } } = compute
  const { headSize, heads, normEpsilon } = config
  const rows = end.rows - start.rows
  const own = Batch.groupsBetween(groups, start.rows, end.rows)
  Linear.forward(compute, own, { layer: index, name: "query" }, kept.rawQuery, normed, rows, 0)
  if (ModelConfig.hasHeadNorms(config)) {
    const { query, queryInverseRoot, rawQuery } = kept
    kernels.normForward(query, rawQuery, layer.queryNorm, queryInverseRoot, rows * heads, headSize, normEpsilon)
  }
  kernels.rotate(kept.query, positions + start.rows * 4, cosine, sine, rows, heads, headSize, 1)
}

/** The record for the queries from row `start` on. */
const recordFrom = ({ config }: Compute, kept: AttentionRecord, start: number): AttentionRecord => {
  const query = start * ModelConfig.querySize(config) * 4
  return {
    ...kept,
    rawQuery: kept.rawQuery + query,
    query: kept.query + query,
    attended: kept.attended + query,
    queryInverseRoot: kept.queryInverseRoot + start * config.heads * 4,
    maximumAndSum: kept.maximumAndSum + start * config.heads * 8
  }
}

/**
 * Writes x plus the attention's result for the rows of `span` to `out`, and the keys and values of all rows to the cache. Returns the
 * record for a backward pass, which is allocated in the arena.
 */
export const forward = (
  compute: Compute,
  batch: Batch.Batch,
  index: number,
  layer: LayerWeights,
  span: Span,
  out: Address,
  x: Address
): AttentionRecord => {
  const { arena, config, kernels, memory } = compute
  const { headSize, heads, hiddenSize, keyHeads, normEpsilon } = config
  const { end, start } = span
  const [rows, behind] = [end.rows - start.rows, start.rows * hiddenSize * 4]
  const record = allocate(compute, x, batch.rows)
  const kept = recordFrom(compute, record, start.rows)
  const mark = arena.mark()
  const normed = arena.allocate(batch.rows * hiddenSize)
  kernels.normForward(normed, x, layer.inputNorm, record.inverseRoot, batch.rows, hiddenSize, normEpsilon)
  projectKeys(compute, batch, index, layer, record, normed)
  projectQueries(compute, batch, index, layer, span, kept, normed + behind)
  const { keys, values } = cacheOf(batch, index)
  kernels.attentionForward(
    kept.attended,
    kept.query,
    keys,
    values,
    batch.segments,
    start.segments,
    end.segments,
    heads,
    keyHeads,
    headSize,
    1 / Math.sqrt(headSize),
    arena.allocate(2 * batch.deepest),
    arena.allocate(batch.longest + 4),
    kept.maximumAndSum
  )
  Memory.floats(memory, out + behind, rows * hiddenSize).set(Memory.floats(memory, x + behind, rows * hiddenSize))
  const groups = Batch.groupsBetween(batch.groups, start.rows, end.rows)
  Linear.forward(compute, groups, { layer: index, name: "output" }, out + behind, kept.attended, rows, 1)
  arena.reset(mark)
  return record
}

/** The rows that a backward pass covers in one half of a layer. */
export interface Reach {
  /** All rows that a gradient reaches. */
  readonly reached: Extent
  /** The first rows of `reached`, in which only keys and values have a gradient. */
  readonly through: Extent
}

/** Gradients of the projections. `query` starts after the rows of `through`, as do the query parts of the record. */
interface ProjectionGradients {
  readonly query: Address
  readonly key: Address
  readonly value: Address
}

/** Computes the gradients of rotated queries, rotated keys and values from the gradient of the attention output. */
const attend = (
  compute: Compute,
  batch: Batch.Batch,
  index: number,
  { reached, through }: Reach,
  kept: AttentionRecord,
  d: ProjectionGradients,
  dAttended: Address
): void => {
  const { arena, config, kernels, memory } = compute
  const { headSize, heads, keyHeads } = config
  const keySize = ModelConfig.keySize(config)
  Memory.floats(memory, d.key, reached.rows * keySize).fill(0)
  Memory.floats(memory, d.value, reached.rows * keySize).fill(0)
  const { keys, values } = cacheOf(batch, index)
  kernels.attentionBackward(
    d.query,
    d.key,
    d.value,
    dAttended,
    kept.attended,
    kept.query,
    keys,
    values,
    batch.segments,
    through.segments,
    reached.segments,
    heads,
    keyHeads,
    headSize,
    1 / Math.sqrt(headSize),
    kept.maximumAndSum,
    arena.allocate(2 * batch.deepest),
    arena.allocate(2 * (batch.longest + 4)),
    batch.longest
  )
}

/** Converts the gradients of rotated queries and keys, in place, to the gradients before rotation and head norms. */
const unrotate = (
  compute: Compute,
  batch: Batch.Batch,
  index: number,
  layer: LayerWeights,
  { reached, through }: Reach,
  kept: AttentionRecord,
  d: ProjectionGradients,
  gradients: Gradients
): void => {
  const { config, kernels, weights } = compute
  const { headSize, heads, keyHeads } = config
  const queries = reached.rows - through.rows
  const { cosine, sine } = weights
  kernels.rotate(d.query, batch.positions + through.rows * 4, cosine, sine, queries, heads, headSize, -1)
  kernels.rotate(d.key, batch.positions, cosine, sine, reached.rows, keyHeads, headSize, -1)
  if (!ModelConfig.hasHeadNorms(config)) return
  const base = gradients.base?.layers[index]
  const norm = (dx: Address, x: Address, weight: Address, root: Address, rows: number, dWeight: Address) =>
    kernels.normBackward(dx, dx, x, weight, root, rows, headSize, dWeight, 0)
  norm(d.query, kept.rawQuery, layer.queryNorm, kept.queryInverseRoot, queries * heads, base?.queryNorm ?? 0)
  norm(d.key, kept.rawKey, layer.keyNorm, kept.keyInverseRoot, reached.rows * keyHeads, base?.keyNorm ?? 0)
}

/** Replaces the gradient of the attention half's output with the gradient of its input, in the reached rows. */
export const backward = (
  compute: Compute,
  batch: Batch.Batch,
  index: number,
  layer: LayerWeights,
  reach: Reach,
  record: AttentionRecord,
  dx: Address,
  gradients: Gradients
): void => {
  const { arena, config, kernels } = compute
  const { hiddenSize, normEpsilon } = config
  const { reached: { rows }, through } = reach
  const queries = rows - through.rows
  const behind = through.rows * hiddenSize * 4
  const kept = recordFrom(compute, record, through.rows)
  const mark = arena.mark()
  const dAttended = arena.allocate(queries * ModelConfig.querySize(config))
  const d: ProjectionGradients = {
    query: arena.allocate(queries * ModelConfig.querySize(config)),
    key: arena.allocate(rows * ModelConfig.keySize(config)),
    value: arena.allocate(rows * ModelConfig.keySize(config))
  }
  const normed = arena.allocate(rows * hiddenSize)
  const dNormed = arena.allocate(rows * hiddenSize)
  const site = (name: "query" | "key" | "value" | "output") => ({ layer: index, name })
  Linear.backward(compute, gradients, site("output"), dAttended, dx + behind, kept.attended, queries, 0)
  attend(compute, batch, index, reach, kept, d, dAttended)
  unrotate(compute, batch, index, layer, reach, kept, d, gradients)
  kernels.normForward(normed, kept.x, layer.inputNorm, kept.inverseRoot, rows, hiddenSize, normEpsilon)
  Linear.backward(compute, gradients, site("key"), dNormed, d.key, normed, rows, 0)
  Linear.backward(compute, gradients, site("value"), dNormed, d.value, normed, rows, 1)
  Linear.backward(compute, gradients, site("query"), dNormed + behind, d.query, normed + behind, queries, 1)
  const dNorm = gradients.base?.layers[index]?.inputNorm ?? 0
  kernels.normBackward(dx, dNormed, kept.x, layer.inputNorm, kept.inverseRoot, rows, hiddenSize, dNorm, 1)
  arena.reset(mark)
}
