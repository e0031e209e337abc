/** Builds elementwise tensor functions with their derivatives. */
import type * as Tensor from "./Tensor.ts"
import * as Variable from "./Variable.ts"

type Variable = Variable.Variable

/** A function of one tensor. */
export type OfOne = (x: Variable) => Variable

/** A function of two tensors. */
export type OfTwo = (x: Variable, y: Variable) => Variable

/** A function of one element. */
export type Unary = (x: number) => number

/** The derivative of a function of one element; without it, no gradient flows. */
export type UnarySlope = ((x: number, output: number) => number) | undefined

/** Applies a function to each element. The result has the operand's kind (`same`) or the given kind. */
export const unary = (f: Unary, slope?: UnarySlope, kind: Tensor.Kind | "same" = "float"): OfOne => (x) =>
  Variable.unary(x, f, slope, kind === "same" ? x.tensor.kind : kind)

export const binary = (
  f: (x: number, y: number) => number,
  slopes?: readonly [Variable.Slope, Variable.Slope],
  kind?: Tensor.Kind
): OfTwo =>
(x, y) => Variable.binary(x, y, f, slopes, kind)
