/** The operations that a loss graph may use. They are pure and deterministic, and gradients flow through those that have a slope. */
import * as Activation from "./Activation.ts"
import * as Arithmetic from "./Arithmetic.ts"
import * as Casting from "./Casting.ts"
import * as Choice from "./Choice.ts"
import * as Comparison from "./Comparison.ts"
import * as Creation from "./Creation.ts"
import * as FunctionalLosses from "./FunctionalLosses.ts"
import * as Indexing from "./Indexing.ts"
import * as MatrixProduct from "./MatrixProduct.ts"
import * as Norm from "./Norm.ts"
import * as Ordering from "./Ordering.ts"
import * as Pieces from "./Pieces.ts"
import * as RealFunctions from "./RealFunctions.ts"
import * as Reductions from "./Reductions.ts"
import * as Shapes from "./Shapes.ts"
import type { Operation } from "./Value.ts"

const shared: Readonly<Record<string, Operation>> = {
  ...Arithmetic.shared,
  ...RealFunctions.shared,
  ...Activation.shared,
  ...Choice.shared,
  ...Comparison.shared,
  ...Reductions.shared,
  ...Ordering.shared,
  ...Norm.shared,
  ...MatrixProduct.shared,
  ...Shapes.shared,
  ...Indexing.shared,
  ...Pieces.shared,
  ...Casting.shared
}

/** Torch operations by their names in Python's `operator` module. */
const operatorNames: Readonly<Record<string, string>> = {
  add: "add",
  sub: "sub",
  mul: "mul",
  truediv: "true_divide",
  floordiv: "floor_divide",
  mod: "remainder",
  pow: "pow",
  neg: "neg",
  pos: "positive",
  abs: "abs",
  lt: "lt",
  le: "le",
  eq: "eq",
  ne: "ne",
  ge: "ge",
  gt: "gt",
  and_: "bitwise_and",
  or_: "bitwise_or",
  xor: "bitwise_xor",
  invert: "bitwise_not",
  inv: "bitwise_not",
  not_: "logical_not",
  matmul: "matmul",
  iadd: "add",
  isub: "sub",
  imul: "mul",
  itruediv: "true_divide"
}

/** Functions of Python's `math` module on numbers, such as lengths. */
const ofNumber = (f: (x: number, y: number) => number): Operation => ({
  parameters: ["x", "y"],
  run: (args) => f(args.number("x"), args.has("y") ? args.number("y") : NaN)
})

const math: Readonly<Record<string, Operation>> = {
  exp: ofNumber(Math.exp),
  log: ofNumber((x, base) => Number.isNaN(base) ? Math.log(x) : Math.log(x) / Math.log(base)),
  log2: ofNumber(Math.log2),
  log10: ofNumber(Math.log10),
  log1p: ofNumber(Math.log1p),
  expm1: ofNumber(Math.expm1),
  sqrt: ofNumber(Math.sqrt),
  pow: ofNumber((x, y) => x ** y),
  floor: ofNumber(Math.floor),
  ceil: ofNumber(Math.ceil),
  trunc: ofNumber(Math.trunc),
  fabs: ofNumber(Math.abs),
  sin: ofNumber(Math.sin),
  cos: ofNumber(Math.cos),
  tanh: ofNumber(Math.tanh)
}

const entries = (prefix: string, operations: Readonly<Record<string, Operation>>) =>
  Object.entries(operations).map(([name, operation]) => [`${prefix}${name}`, operation] as const)

const aliases = Object.entries(operatorNames).flatMap(([name, target]) => {
  const operation = shared[target]
  return operation === undefined ? [] : [[`operator.${name}`, operation] as const]
})

const functions: ReadonlyMap<string, Operation> = new Map([
  ...entries("torch.", shared),
  ...aliases,
  ...entries("operator.", Indexing.operators),
  ...entries("math.", math),
  ...entries("", RealFunctions.functions),
  ...entries("", Activation.functions),
  ...entries("", Choice.functions),
  ...entries("", Reductions.functions),
  ...entries("", Norm.functions),
  ...entries("", FunctionalLosses.functions),
  ...entries("", Pieces.functions),
  ...entries("", Casting.functions),
  ...entries("", Creation.functions)
])

const methods: ReadonlyMap<string, Operation> = new Map([
  ...entries("", shared),
  ...entries("", Choice.methods),
  ...entries("", Shapes.methods),
  ...entries("", Casting.methods),
  ...entries("", Creation.methods)
])

/** Matches in-place operators. They change their first operand, which must not be read afterwards. */
const changing = /^operator\.i(add|sub|mul|truediv)$/

export const changesOperand = (target: string): boolean => changing.test(target)

export const find = (op: "call_function" | "call_method", target: string): Operation | undefined =>
  op === "call_function" ? functions.get(target) : methods.get(target)
