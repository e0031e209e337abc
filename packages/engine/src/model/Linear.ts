/** Multiplies rows by a matrix of the model and by the adapter of each row group. */
import type { Accumulate } from "../numerics/Kernels.ts"
import type { Address } from "../numerics/Memory.ts"
import * as TensorType from "../numerics/TensorType.ts"
import type { AdapterLayout, Target } from "./Adapter.ts"
import type { Group } from "./Batch.ts"
import type { Compute } from "./Compute.ts"
import type { Gradients } from "./Gradients.ts"
import type { LinearName } from "./ModelConfig.ts"
import type { Linear } from "./Weights.ts"

/** A matrix of a layer, or the LM head. */
export type Site = { readonly layer: number; readonly name: LinearName } | "head"

const targetAt = (layout: AdapterLayout, site: Site): Target | undefined =>
  site === "head" ? layout.head : layout.layers[site.layer]?.[site.name]

const weightsAt = ({ weights }: Compute, site: Site): Linear => {
  if (site === "head") return weights.head
  const layer = weights.layers[site.layer]
  if (layer === undefined) throw new RangeError(`the model has no layer ${site.layer}`)
  return layer[site.name]
}

/** Sets y to x·W or, with `backward`, to x·Wᵀ. With `accumulate` 1, adds the product to y. */
const multiply = (
  { arena, kernels }: Compute,
  { inputs, matrix, outputs }: Linear,
  direction: "forward" | "backward",
  y: Address,
  x: Address,
  rows: number,
  accumulate: Accumulate
): void => {
  if (matrix._tag === "Panels") {
    const [from, to] = direction === "forward" ? [inputs, outputs] : [outputs, inputs]
    return kernels.gemm(y, x, matrix[direction], rows, to, from, from, to, accumulate)
  }
  const product = direction === "forward" ? kernels.gemmStored : kernels.gemmStoredTransposed
  const mark = arena.mark()
  const scratch = arena.allocate(storedScratch(inputs))
  const rowBytes = TensorType.bytesOf(matrix.type, inputs)
  product(y, x, matrix.rows, TensorType.idOf(matrix.type), rowBytes, rows, outputs, inputs, accumulate, scratch)
  arena.reset(mark)
}

/** Floats of scratch that a product with a stored matrix needs. */
export const storedScratch = (inputs: number): number => Math.max(32 * inputs + 256, 16_384)

/** Sets y to x·W + bias + (alpha/rank)·(x·A)·B. With `accumulate` 1, adds the result to y. */
export const forward = (
  compute: Compute,
  groups: ReadonlyArray<Group>,
  site: Site,
  y: Address,
  x: Address,
  rows: number,
  accumulate: Accumulate
): void => {
  const { arena, kernels } = compute
  const linear = weightsAt(compute, site)
  const { bias, inputs, outputs } = linear
  multiply(compute, linear, "forward", y, x, rows, accumulate)
  if (bias !== 0) kernels.addBias(y, bias, rows, outputs)
  for (const group of groups) {
    const target = group.adapter && targetAt(group.adapter.layout, site)
    if (group.adapter === undefined || target === undefined) continue
    const { forward: block, layout: { paddedRank } } = group.adapter
    const mark = arena.mark()
    const low = arena.allocate(group.rows * paddedRank)
    const xs = x + group.start * inputs * 4
    const ys = y + group.start * outputs * 4
    kernels.gemm(low, xs, block + target.packedA * 4, group.rows, paddedRank, inputs, inputs, paddedRank, 0)
    kernels.gemm(ys, low, block + target.packedB * 4, group.rows, outputs, paddedRank, paddedRank, outputs, 1)
    arena.reset(mark)
  }
}

/** For one group of rows, sets or adds the gradient of x in dx, and adds the gradients of the weights. */
export const backward = (
  compute: Compute,
  gradients: Gradients,
  site: Site,
  dx: Address,
  dy: Address,
  x: Address,
  rows: number,
  accumulate: Accumulate
): void => {
  const { kernels } = compute
  const linear = weightsAt(compute, site)
  const { inputs, outputs } = linear
  multiply(compute, linear, "backward", dx, dy, rows, accumulate)
  if (gradients.adapter !== undefined) adapterBackward(compute, gradients.adapter, site, dx, dy, x, rows)
  if (gradients.base !== undefined) {
    const dWeight = site === "head" ? gradients.base.head : gradients.base.layers[site.layer]?.[site.name]
    if (dWeight === undefined) throw new RangeError("a base matrix has no address for its gradient")
    kernels.gemmTransposed(dWeight, dy, x, rows, inputs, outputs, outputs, inputs, inputs)
  }
}

const adapterBackward = (
  { arena, kernels }: Compute,
  { block, packed }: NonNullable<Gradients["adapter"]>,
  site: Site,
  dx: Address,
  dy: Address,
  x: Address,
  rows: number
): void => {
  const { layout: { paddedRank: rank } } = packed
  const target = targetAt(packed.layout, site)
  if (target === undefined) return
  const { inputs, outputs } = target
  const mark = arena.mark()
  const low = arena.allocate(rows * rank)
  kernels.gemm(low, x, packed.forward + target.packedA * 4, rows, rank, inputs, inputs, rank, 0)
  kernels.gemmTransposed(block + target.b * 4, low, dy, rows, outputs, rank, rank, outputs, outputs)
  kernels.gemm(low, dy, packed.backward + target.transposedB * 4, rows, rank, outputs, outputs, rank, 0)
  kernels.gemmTransposed(block + target.a * 4, x, low, rows, rank, inputs, inputs, rank, rank)
  kernels.gemm(dx, low, packed.backward + target.transposedA * 4, rows, inputs, rank, rank, inputs, 1)
  arena.reset(mark)
}
