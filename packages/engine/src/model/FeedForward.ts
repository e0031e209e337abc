/** The feed-forward half of a layer: out = x + down(silu(gate(norm(x)))·up(norm(x))). */
import type { Address } from "../numerics/Memory.ts"
import * as Memory from "../numerics/Memory.ts"
import * as Batch from "./Batch.ts"
import type { Compute } from "./Compute.ts"
import type { Gradients } from "./Gradients.ts"
import * as Linear from "./Linear.ts"
import type { Span } from "./PrefixTree.ts"
import type { LayerWeights } from "./Weights.ts"

/** Values kept for the backward pass. The normed input and the gated values are recomputed, which is cheaper than keeping them. */
export interface FeedForwardRecord {
  readonly x: Address
  readonly inverseRoot: Address
  readonly gate: Address
  readonly up: Address
}

/** The record from row `start` on. */
const recordFrom = ({ config }: Compute, kept: FeedForwardRecord, start: number): FeedForwardRecord => ({
  x: kept.x + start * config.hiddenSize * 4,
  inverseRoot: kept.inverseRoot + start * 4,
  gate: kept.gate + start * config.feedForwardSize * 4,
  up: kept.up + start * config.feedForwardSize * 4
})

/**
 * Writes x plus the feed-forward half's result for the rows of `span` to `out`. Returns the record for a backward pass,
 * which is allocated in the arena.
 */
export const forward = (
  compute: Compute,
  batch: Batch.Batch,
  index: number,
  layer: LayerWeights,
  { end, start }: Span,
  out: Address,
  x: Address
): FeedForwardRecord => {
  const { arena, config, kernels, memory } = compute
  const { feedForwardSize, hiddenSize, normEpsilon } = config
  const [rows, behind] = [end.rows - start.rows, start.rows * hiddenSize * 4]
  const groups = Batch.groupsBetween(batch.groups, start.rows, end.rows)
  const record: FeedForwardRecord = {
    x,
    inverseRoot: arena.allocate(batch.rows),
    gate: arena.allocate(batch.rows * feedForwardSize),
    up: arena.allocate(batch.rows * feedForwardSize)
  }
  const kept = recordFrom(compute, record, start.rows)
  const mark = arena.mark()
  const normed = arena.allocate(rows * hiddenSize)
  const gated = arena.allocate(rows * feedForwardSize)
  kernels.normForward(normed, kept.x, layer.feedForwardNorm, kept.inverseRoot, rows, hiddenSize, normEpsilon)
  Linear.forward(compute, groups, { layer: index, name: "gate" }, kept.gate, normed, rows, 0)
  Linear.forward(compute, groups, { layer: index, name: "up" }, kept.up, normed, rows, 0)
  kernels.siluForward(gated, kept.gate, kept.up, rows * feedForwardSize)
  Memory.floats(memory, out + behind, rows * hiddenSize).set(Memory.floats(memory, kept.x, rows * hiddenSize))
  Linear.forward(compute, groups, { layer: index, name: "down" }, out + behind, gated, rows, 1)
  arena.reset(mark)
  return record
}

/**
 * Replaces the gradient of the feed-forward half's output with the gradient of its input, in the rows from `start` to
 * `end`.
 */
export const backward = (
  compute: Compute,
  index: number,
  layer: LayerWeights,
  [start, end]: readonly [start: number, end: number],
  record: FeedForwardRecord,
  dResult: Address,
  gradients: Gradients
): void => {
  const { arena, config, kernels } = compute
  const { feedForwardSize, hiddenSize, normEpsilon } = config
  const rows = end - start
  const kept = recordFrom(compute, record, start)
  const dx = dResult + start * hiddenSize * 4
  const mark = arena.mark()
  const gated = arena.allocate(rows * feedForwardSize)
  const dGate = arena.allocate(rows * feedForwardSize)
  const dUp = arena.allocate(rows * feedForwardSize)
  const normed = arena.allocate(rows * hiddenSize)
  const dNormed = arena.allocate(rows * hiddenSize)
  kernels.siluForward(gated, kept.gate, kept.up, rows * feedForwardSize)
  Linear.backward(compute, gradients, { layer: index, name: "down" }, dGate, dx, gated, rows, 0)
  kernels.siluBackward(dGate, dUp, dGate, kept.gate, kept.up, rows * feedForwardSize)
  kernels.normForward(normed, kept.x, layer.feedForwardNorm, kept.inverseRoot, rows, hiddenSize, normEpsilon)
  Linear.backward(compute, gradients, { layer: index, name: "gate" }, dNormed, dGate, normed, rows, 0)
  Linear.backward(compute, gradients, { layer: index, name: "up" }, dNormed, dUp, normed, rows, 1)
  const dNorm = gradients.base?.layers[index]?.feedForwardNorm ?? 0
  kernels.normBackward(dx, dNormed, kept.x, layer.feedForwardNorm, kept.inverseRoot, rows, hiddenSize, dNorm, 1)
  arena.reset(mark)
}
