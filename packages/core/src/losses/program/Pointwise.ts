/** The elementwise functions of loss expressions and their derivatives. */
import * as Loops from "./Loops.ts"

/** A function of one element. Without a slope, no gradient passes through it. */
export interface Unary {
  readonly arity: 1
  readonly f: (x: number) => number
  readonly slope: ((x: number, output: number) => number) | undefined
  readonly loops: Loops.Loops | undefined
}

/** ∂output/∂operand for one element. */
export type Slope = (x: number, y: number, output: number) => number

/** A function of two elements, and its derivatives with respect to both. Without slopes, no gradient passes through the function. */
export interface Binary {
  readonly arity: 2
  readonly f: (x: number, y: number) => number
  readonly slopes: readonly [Slope, Slope] | undefined
  readonly loops: Loops.Loops | undefined
}

export type Pointwise = Unary | Binary

const unary = (f: Unary["f"], slope?: Unary["slope"], loops?: Loops.Loops): Unary => ({ arity: 1, f, slope, loops })

const binary = (f: Binary["f"], slopes?: Binary["slopes"], loops?: Loops.Loops): Binary => ({
  arity: 2,
  f,
  slopes,
  loops
})

const compare = (holds: (x: number, y: number) => boolean, loops?: Loops.Loops): Binary =>
  binary((x, y) => Number(holds(x, y)), undefined, loops)

const sigmoidOf = (x: number) => x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x))

/** log(1 + eˣ), computed without overflow. */
const softplusOf = (x: number) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)))

/** Equal elements share the gradient, as in torch. */
const sharing = (isChosen: (x: number, y: number) => boolean) =>
  [
    (x: number, y: number) => x === y ? 0.5 : isChosen(x, y) ? 1 : 0,
    (x: number, y: number) => x === y ? 0.5 : isChosen(x, y) ? 0 : 1
  ] as const

const never = () => 0

/** `clamp` with a constant lower bound. An element on the bound has no gradient, as in torch 2.15. */
const atLeast = binary((a, b) => a < b ? b : a, [(a, b) => a > b ? 1 : 0, never], Loops.atLeast)

/** `clamp` with a constant upper bound. An element on the bound has no gradient, as in torch 2.15. */
const atMost = binary((a, b) => a > b ? b : a, [(a, b) => a < b ? 1 : 0, never], Loops.atMost)

/** Elementwise functions, by their torch names. */
export const functions = {
  add: binary((a, b) => a + b, [() => 1, () => 1], Loops.add),
  sub: binary((a, b) => a - b, [() => 1, () => -1], Loops.subtract),
  mul: binary((a, b) => a * b, [(_, b) => b, (a) => a], Loops.multiply),
  div: binary((a, b) => a / b, [(_, b) => 1 / b, (_, b, output) => -output / b]),
  neg: unary((a) => -a, () => -1, Loops.negate),
  exp: unary(Math.exp, (_, output) => output, Loops.exp),
  log: unary(Math.log, (a) => 1 / a),
  sqrt: unary(Math.sqrt, (_, output) => 0.5 / output),
  square: unary((a) => a * a, (a) => 2 * a),
  abs: unary(Math.abs, Math.sign),
  sign: unary(Math.sign),
  sigmoid: unary(sigmoidOf, (_, output) => output * (1 - output)),
  logsigmoid: unary((a) => -softplusOf(-a), (a) => sigmoidOf(-a)),
  minimum: binary(Math.min, sharing((a, b) => a < b), Loops.minimum),
  maximum: binary(Math.max, sharing((a, b) => a > b)),
  gt: compare((x, y) => x > y, Loops.greater),
  ge: compare((x, y) => x >= y, Loops.greaterOrEqual),
  lt: compare((x, y) => x < y, Loops.less),
  le: compare((x, y) => x <= y, Loops.lessOrEqual),
  ne: compare((x, y) => x !== y, Loops.notEqual),
  logical_and: compare((x, y) => x !== 0 && y !== 0, Loops.and),
  logical_or: compare((x, y) => x !== 0 || y !== 0),
  logical_not: unary((x) => Number(x === 0))
} as const satisfies Readonly<Record<string, Pointwise>>

/** The two sides of `clamp`. The bound is a constant, or a tensor that shares the gradient with equal elements. */
export const bounds = {
  min: { number: atLeast, tensor: functions.maximum },
  max: { number: atMost, tensor: functions.minimum }
} as const

/** Functions of Python's `operator` module, by name. */
const operators = {
  add: functions.add,
  sub: functions.sub,
  mul: functions.mul,
  truediv: functions.div,
  neg: functions.neg,
  abs: functions.abs,
  gt: functions.gt,
  ge: functions.ge,
  lt: functions.lt,
  le: functions.le,
  ne: functions.ne
}

const entries = (prefix: string, all: Readonly<Record<string, Pointwise>>) =>
  Object.entries(all).map(([name, pointwise]): [string, Pointwise] => [`${prefix}${name}`, pointwise])

const known: ReadonlyMap<string, Pointwise> = new Map([
  ...entries("call_function torch.", functions),
  ...entries("call_method ", functions),
  ...entries("call_function operator.", operators),
  ["call_function torch.true_divide", functions.div],
  ["call_function torch._C._nn.log_sigmoid", functions.logsigmoid],
  ["call_function torch.nn.functional.logsigmoid", functions.logsigmoid],
  ["call_function torch.nn.functional.sigmoid", functions.sigmoid]
])

/** The function that a node calls; undefined if it is not known. */
export const find = (op: string, target: string): Pointwise | undefined => known.get(`${op} ${target}`)
