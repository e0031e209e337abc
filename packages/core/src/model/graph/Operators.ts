/** Operations made of functions of one or two elements. */
import * as Tensor from "./Tensor.ts"
import type { Arguments, Operation } from "./Value.ts"
import * as Variable from "./Variable.ts"

type Variable = Variable.Variable

export const one = (
  f: (x: number) => number,
  slope: (x: number, output: number) => number,
  kind?: Tensor.Kind
): Operation => ({
  parameters: ["input"],
  run: (args) => {
    const x = args.tensor("input")
    return Variable.unary(x, f, slope, kind ?? "float")
  }
})

/** A step function, whose slope is 0 wherever it has one. */
export const step = (f: (x: number) => number): Operation => ({
  parameters: ["input"],
  run: (args) => Variable.unary(args.tensor("input"), f, undefined, args.tensor("input").tensor.kind)
})

export const isTrue = (f: (x: number) => boolean): Operation => ({
  parameters: ["input"],
  run: (args) => Variable.unary(args.tensor("input"), (x) => Number(f(x)), undefined, "bool")
})

export const of = (f: (x: Variable) => Variable): Operation => ({
  parameters: ["input"],
  run: (args) => f(args.tensor("input"))
})

/** Numbers of Python, such as lengths, stay numbers. */
export const pair = (
  f: (x: Variable, y: Variable) => Variable,
  ofNumbers?: (x: number, y: number) => number | boolean
): Operation => ({
  parameters: ["input", "other"],
  run: (args) => {
    const [x, y] = [args.get("input"), args.get("other")]
    return typeof x === "number" && typeof y === "number" && ofNumbers !== undefined
      ? ofNumbers(x, y)
      : f(args.tensor("input"), args.tensor("other"))
  }
})

export const compare = (f: (x: number, y: number) => boolean): Operation =>
  pair((x, y) => Variable.binary(x, y, (a, b) => Number(f(a, b)), undefined, "bool"), f)

export const logical = (f: (x: boolean, y: boolean) => boolean): Operation =>
  pair((x, y) => Variable.binary(x, y, (a, b) => Number(f(a !== 0, b !== 0)), undefined, "bool"))

export const bitwise = (f: (x: number, y: number) => number): Operation =>
  pair((x, y) =>
    Tensor.isFloat(x.tensor.kind) || Tensor.isFloat(y.tensor.kind)
      ? Tensor.refuse("bitwise logic of numbers that are not whole")
      : Variable.binary(x, y, f), f)

/** `alpha` or `value` times the last operand is added. */
export const scaled = (name: string, combine: (args: Arguments, scale: Variable) => Variable) => (args: Arguments) =>
  combine(args, Variable.number(args.number(name, 1)))
