/** Functions of each element alone, with their slopes: what tensors and programs over many data have in common. */
import type { Loops } from "./Loops.ts"
import type * as Tensor from "./Tensor.ts"
import * as Variable from "./Variable.ts"

type Variable = Variable.Variable

/** A function of one element; without a slope no gradient passes through it. */
export interface Unary {
  readonly arity: 1
  readonly f: (x: number) => number
  readonly slope: ((x: number, output: number) => number) | undefined
  readonly loops: Loops | undefined
}

/** ∂output/∂operand of one element. */
export type Slope = (x: number, y: number, output: number) => number

/** A function of two elements, with the slope of each. */
export interface Binary {
  readonly arity: 2
  readonly f: (x: number, y: number) => number
  readonly slopes: readonly [Slope, Slope] | undefined
  readonly loops: Loops | undefined
}

export type Pointwise = Unary | Binary

/** A function of a tensor, which is known by its elements where `pointwise` says so. */
export interface OfOne {
  (x: Variable): Variable
  readonly pointwise?: Unary
}

/** A function of two tensors. */
export interface OfTwo {
  (x: Variable, y: Variable): Variable
  readonly pointwise?: Binary
}

/** The result has the kind of its operand, or one of its own. */
export const unary = (f: Unary["f"], slope?: Unary["slope"], kind: Tensor.Kind | "same" = "float", loops?: Loops) =>
  Object.assign(
    (x: Variable) => Variable.unary(x, f, slope, kind === "same" ? x.tensor.kind : kind),
    { pointwise: { arity: 1, f, slope, loops } } as const
  )

export const binary = (f: Binary["f"], slopes?: Binary["slopes"], kind?: Tensor.Kind, loops?: Loops) =>
  Object.assign(
    (x: Variable, y: Variable) => Variable.binary(x, y, f, slopes, kind),
    { pointwise: { arity: 2, f, slopes, loops } } as const
  )
