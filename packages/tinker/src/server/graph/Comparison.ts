/** Comparison operations, and logic operations on their results. */
import { bitwise, compare, isTrue, logical } from "./Operators.ts"
import type { Operation } from "./Value.ts"
import * as Variable from "./Variable.ts"

const above = compare((x, y) => x > y)
const atLeast = compare((x, y) => x >= y)
const below = compare((x, y) => x < y)
const atMost = compare((x, y) => x <= y)
const different = compare((x, y) => x !== y)

/** Operations that are available as `torch.<name>` and as a tensor method, by torch's name. */
export const shared: Readonly<Record<string, Operation>> = {
  gt: above,
  greater: above,
  ge: atLeast,
  greater_equal: atLeast,
  lt: below,
  less: below,
  le: atMost,
  less_equal: atMost,
  eq: compare((x, y) => x === y),
  ne: different,
  not_equal: different,
  isclose: {
    parameters: ["input", "other", "rtol", "atol"],
    run: (args) => {
      const [relative, absoluteTolerance] = [args.number("rtol", 1e-5), args.number("atol", 1e-8)]
      const isClose = (a: number, b: number) => a === b || Math.abs(a - b) <= absoluteTolerance + relative * Math.abs(b)
      return Variable.binary(
        args.tensor("input"),
        args.tensor("other"),
        (a, b) => Number(isClose(a, b)),
        undefined,
        "bool"
      )
    }
  },
  isnan: isTrue(Number.isNaN),
  isfinite: isTrue(Number.isFinite),
  isinf: isTrue((x) => Math.abs(x) === Infinity),
  logical_and: logical((x, y) => x && y),
  logical_or: logical((x, y) => x || y),
  logical_xor: logical((x, y) => x !== y),
  logical_not: isTrue((x) => x === 0),
  bitwise_and: bitwise((x, y) => x & y),
  bitwise_or: bitwise((x, y) => x | y),
  bitwise_xor: bitwise((x, y) => x ^ y),
  bitwise_not: {
    parameters: ["input"],
    run: (args) => {
      const x = args.tensor("input")
      return x.tensor.kind === "bool"
        ? Variable.unary(x, (value) => Number(value === 0), undefined, "bool")
        : Variable.unary(x, (value) => -value - 1, undefined, "int")
    }
  }
}
