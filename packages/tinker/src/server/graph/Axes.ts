/** The dimensions that an operation reduces, and which elements contribute to each element of the result. */
import { spend } from "./Cost.ts"
import * as Elementwise from "./Elementwise.ts"
import * as Tensor from "./Tensor.ts"
import type { Arguments } from "./Value.ts"
import * as Variable from "./Variable.ts"

type Variable = Variable.Variable

export interface Axes {
  /** The shape with the reduced dimensions kept as 1. */
  readonly kept: Tensor.Shape
  /** The shape of the result. */
  readonly shape: Tensor.Shape
  /** The position in the result for each element. */
  readonly index: Int32Array
  /** Number of elements that are combined into one. */
  readonly count: number
}

export const axesOf = ({ shape }: Tensor.Tensor, dims: ReadonlyArray<number> | undefined, keep: boolean): Axes => {
  const rank = shape.length
  const chosen = dims === undefined || dims.length === 0
    ? new Set(shape.keys())
    : new Set(dims.map((dim) => Tensor.axisOf(dim, rank)))
  const kept = shape.map((length, axis) => chosen.has(axis) ? 1 : length)
  const strides = Tensor.stridesOf(kept).map((stride, axis) => chosen.has(axis) ? 0 : stride)
  const count = shape.reduce((product, length, axis) => chosen.has(axis) ? product * length : product, 1)
  return {
    kept,
    shape: keep ? kept : shape.filter((_, axis) => !chosen.has(axis)),
    index: Tensor.indexOf(shape, strides),
    count
  }
}

export const axesIn = (args: Arguments, x: Variable) =>
  axesOf(x.tensor, args.numbers("dim"), args.flag("keepdim", false))

export const sumOver = (x: Variable, { index, shape }: Axes) => Variable.scatterSum(x, shape, index)

export const meanOver = (x: Variable, axes: Axes) => Elementwise.divide(sumOver(x, axes), Variable.number(axes.count))

/** Expands one value per group to all elements of the group. */
export const spread = (x: Variable, group: Variable, axes: Axes) => Variable.gather(group, x.tensor.shape, axes.index)

/** The positions of each group's elements, in order. */
export const membersOf = ({ index, shape }: Axes): ReadonlyArray<ReadonlyArray<number>> => {
  const groups = Tensor.sizeOf(shape)
  spend(4 * (index.length + groups))
  const members = Array.from({ length: groups }, (): Array<number> => [])
  index.forEach((group, at) => members[group]?.push(at))
  return members
}

export const pick = (x: Variable, axes: Axes, choose: (members: ReadonlyArray<number>) => number): Variable =>
  axes.count === 0
    ? Tensor.refuse("the extreme of no element")
    : Variable.gather(x, axes.shape, Int32Array.from(membersOf(axes), choose))
