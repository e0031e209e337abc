/** Dense arrays, the operands of loss graph operations. */
import { spend } from "./Cost.ts"

/**
 * The element types that affect the meaning of operations. Inputs are `float`, which is float64. `single` is float32; torch creates it from
 * Python numbers alone, and results are rounded to it.
 */
export type Kind = "float" | "single" | "int" | "bool"

export const isFloat = (kind: Kind): boolean => kind === "float" || kind === "single"

export type Shape = ReadonlyArray<number>

/** A dense array with row-major elements. */
export interface Tensor {
  readonly kind: Kind
  readonly shape: Shape
  readonly data: Float64Array
}

/** An operation with invalid operands; the interpreter adds the node. */
export class InvalidOperation extends Error {}

export const refuse = (detail: string): never => {
  throw new InvalidOperation(detail)
}

/** Maximum number of elements of a tensor, so a graph from a client cannot exhaust the memory. */
const maximumElements = 2 ** 23

/** Maximum number of dimensions, as in torch. */
const maximumRank = 64

const checkRank = ({ length }: Shape) => {
  if (length > maximumRank) refuse(`a tensor of ${length} dimensions, expected at most ${maximumRank}`)
}

export const sizeOf = (shape: Shape): number => {
  checkRank(shape)
  const size = shape.reduce((product, length) => product * length, 1)
  return size <= maximumElements
    ? size
    : refuse(`a tensor of shape [${shape.join(", ")}] has more than ${maximumElements} elements`)
}

export const make = (kind: Kind, shape: Shape, data: Float64Array): Tensor => {
  checkRank(shape)
  return { kind, shape, data: rounded(kind, data) }
}

export const full = (kind: Kind, shape: Shape, value: number): Tensor => {
  const size = sizeOf(shape)
  spend(size)
  return make(kind, shape, new Float64Array(size).fill(value))
}

/** `count` integers that begin with `start` and are `step` apart. */
export const range = (start: number, count: number, step = 1): Tensor => {
  const size = sizeOf([count])
  spend(size)
  const data = new Float64Array(size)
  for (let i = 0; i < data.length; i++) data[i] = start + i * step
  return make("int", [size], data)
}

/** The positions 0 to `count` − 1. */
export const places = (count: number): Int32Array => {
  spend(count)
  const index = new Int32Array(count)
  for (let i = 0; i < count; i++) index[i] = i
  return index
}

export const scalar = (value: number, kind: Kind = "float"): Tensor => make(kind, [], Float64Array.of(value))

const ranks: ReadonlyArray<Kind> = ["bool", "int", "single", "float"]

/** The result type of arithmetic on two tensors. A tensor without dimensions does not widen the float type of one with dimensions. */
export const promote = (left: Tensor, right: Tensor): Kind => {
  const widest = ranks[Math.max(ranks.indexOf(left.kind), ranks.indexOf(right.kind))] ?? "float"
  const [narrow, wide] = left.kind === "single" ? [left, right] : [right, left]
  const keepsSingle = narrow.kind === "single" && wide.kind === "float" && narrow.shape.length > 0 &&
    wide.shape.length === 0
  return keepsSingle ? "single" : widest
}

const rounded = (kind: Kind, data: Float64Array) => {
  if (kind !== "single") return data
  spend(data.length)
  return data.map(Math.fround)
}

export const sameShape = (left: Shape, right: Shape): boolean =>
  left.length === right.length && left.every((length, axis) => length === right[axis])

/** The shape to which both operands expand. */
export const broadcast = (left: Shape, right: Shape): Shape => {
  const rank = Math.max(left.length, right.length)
  return Array.from({ length: rank }, (_, axis) => {
    const a = left[axis - rank + left.length] ?? 1
    const b = right[axis - rank + right.length] ?? 1
    if (a !== b && a !== 1 && b !== 1) {
      refuse(`shapes [${left.join(", ")}] and [${right.join(", ")}] do not go together`)
    }
    return a === 1 ? b : a
  })
}

export const stridesOf = (shape: Shape): ReadonlyArray<number> => {
  const strides = Array.from(shape, () => 1)
  for (let axis = shape.length - 2; axis >= 0; axis--) strides[axis] = (strides[axis + 1] ?? 1) * (shape[axis + 1] ?? 1)
  return strides
}

/** The source position of each element of an array of shape `to`, given `strides` and `offset`. */
export const indexOf = (to: Shape, strides: ReadonlyArray<number>, offset = 0): Int32Array => {
  const size = sizeOf(to)
  spend(size)
  const index = new Int32Array(size)
  const position = Array.from(to, () => 0)
  let at = offset
  for (let i = 0; i < index.length; i++) {
    index[i] = at
    for (let axis = to.length - 1; axis >= 0; axis--) {
      const next = (position[axis] ?? 0) + 1
      at += strides[axis] ?? 0
      if (next < (to[axis] ?? 0)) {
        position[axis] = next
        break
      }
      at -= next * (strides[axis] ?? 0)
      position[axis] = 0
    }
  }
  return index
}

/** The source position of each element of shape `to` in an array of shape `from` that is expanded to it. */
export const broadcastIndex = (from: Shape, to: Shape): Int32Array => {
  const own = stridesOf(from)
  const missing = to.length - from.length
  const strides = to.map((_, axis) => axis < missing || from[axis - missing] === 1 ? 0 : own[axis - missing] ?? 0)
  return indexOf(to, strides)
}

/** The dimension counted from the front; a negative `axis` counts from the end. */
export const axisOf = (axis: number, rank: number): number => {
  const positive = axis < 0 ? axis + Math.max(rank, 1) : axis
  return Number.isInteger(axis) && positive >= 0 && positive < Math.max(rank, 1)
    ? positive
    : refuse(`dimension ${axis} of a tensor of ${rank} dimensions`)
}
