/** Builds operations from functions of one or two elements. */
import { binary, type OfOne, type OfTwo, type Unary, unary, type UnarySlope } from "./Pointwise.ts"
import * as Tensor from "./Tensor.ts"
import type { Arguments, Operation } from "./Value.ts"
import * as Variable from "./Variable.ts"

type Variable = Variable.Variable

export const of = (f: OfOne): Operation => ({
  parameters: ["input"],
  run: (args) => f(args.tensor("input"))
})

export const one = (f: Unary, slope: UnarySlope, kind?: Tensor.Kind): Operation => of(unary(f, slope, kind))

/** A step function, whose derivative is 0 wherever it is defined. */
export const step = (f: Unary): Operation => of(unary(f, undefined, "same"))

export const isTrue = (f: (x: number) => boolean): Operation => of(unary((x) => Number(f(x)), undefined, "bool"))

/** An operation on two operands. If both are Python numbers, such as lengths, `ofNumbers` computes the result as a number. */
export const pair = (f: OfTwo, ofNumbers?: (x: number, y: number) => number | boolean): Operation => ({
  parameters: ["input", "other"],
  run: (args) => {
    const [x, y] = [args.get("input"), args.get("other")]
    return typeof x === "number" && typeof y === "number" && ofNumbers !== undefined
      ? ofNumbers(x, y)
      : f(args.tensor("input"), args.tensor("other"))
  }
})

export const compare = (f: (x: number, y: number) => boolean): Operation =>
  pair(binary((a, b) => Number(f(a, b)), undefined, "bool"), f)

export const logical = (f: (x: boolean, y: boolean) => boolean): Operation =>
  pair(binary((a, b) => Number(f(a !== 0, b !== 0)), undefined, "bool"))

export const bitwise = (f: (x: number, y: number) => number): Operation =>
  pair((x, y) =>
    Tensor.isFloat(x.tensor.kind) || Tensor.isFloat(y.tensor.kind)
      ? Tensor.refuse("bitwise logic of numbers that are not whole")
      : Variable.binary(x, y, f), f)

/** Scales the last operand by `alpha` or `value` before combining. */
export const scaled = (name: string, combine: (args: Arguments, scale: Variable) => Variable) => (args: Arguments) =>
  combine(args, Variable.number(args.number(name, 1)))
