/** Sums, products, quotients and powers. */
import { absolute, add, divide, multiply, negate, square, subtract } from "./Elementwise.ts"
import { of, one, pair, scaled } from "./Operators.ts"
import { binary } from "./Pointwise.ts"
import type { Operation } from "./Value.ts"
import * as Variable from "./Variable.ts"

type Variable = Variable.Variable

/** The remainder with the sign of the divisor, as in Python. */
const modulo = (x: number, y: number) => x - Math.floor(x / y) * y

const power = binary((a, b) => b === 2 ? a * a : a ** b, [
  (a, b) => b === 0 ? 0 : b === 2 ? 2 * a : b * a ** (b - 1),
  (a, _, output) => a === 0 ? 0 : output * Math.log(a)
])

const plus = (sign: number): Operation => ({
  parameters: ["input", "other", "alpha"],
  run: (args) => {
    const [x, y] = [args.get("input"), args.get("other")]
    if (typeof x === "number" && typeof y === "number") return x + sign * y
    const scale = sign * args.number("alpha", 1)
    if (scale === 1) return add(args.tensor("input"), args.tensor("other"))
    if (scale === -1) return subtract(args.tensor("input"), args.tensor("other"))
    return add(args.tensor("input"), multiply(Variable.number(scale), args.tensor("other")))
  }
})

const divideOperation: Operation = {
  parameters: ["input", "other", "rounding_mode"],
  run: (args) => {
    const output = divide(args.tensor("input"), args.tensor("other"))
    if (!args.has("rounding_mode")) return output
    const round = args.text("rounding_mode", "") === "floor" ? Math.floor : Math.trunc
    return Variable.unary(output, round)
  }
}

const floorDivide: Operation = pair(
  binary((a, b) => Math.floor(a / b)),
  (x, y) => Math.floor(x / y)
)

const negateOperation: Operation = {
  parameters: ["input"],
  run: (args) => {
    const x = args.get("input")
    return typeof x === "number" ? -x : negate(args.tensor("input"))
  }
}

const lerp: Operation = {
  parameters: ["input", "end", "weight"],
  run: (args) => {
    const x = args.tensor("input")
    return add(x, multiply(args.tensor("weight"), subtract(args.tensor("end"), x)))
  }
}

/** Operations that are available as `torch.<name>` and as a tensor method, by torch's name. */
export const shared: Readonly<Record<string, Operation>> = {
  add: plus(1),
  sub: plus(-1),
  subtract: plus(-1),
  rsub: {
    parameters: ["input", "other", "alpha"],
    run: scaled("alpha", (args, scale) => subtract(args.tensor("other"), multiply(scale, args.tensor("input"))))
  },
  mul: pair(multiply, (x, y) => x * y),
  multiply: pair(multiply, (x, y) => x * y),
  div: divideOperation,
  divide: divideOperation,
  true_divide: pair(divide, (x, y) => x / y),
  floor_divide: floorDivide,
  remainder: pair((x, y) => Variable.binary(x, y, modulo, [() => 1, (a, b) => -Math.floor(a / b)])),
  fmod: pair((x, y) => Variable.binary(x, y, (a, b) => a % b, [() => 1, (a, b) => -Math.trunc(a / b)])),
  pow: pair(power, (x, y) => x ** y),
  float_power: pair(power, (x, y) => x ** y),
  neg: negateOperation,
  negative: negateOperation,
  positive: of((x) => x),
  abs: of(absolute),
  absolute: of(absolute),
  square: of(square),
  reciprocal: one((x) => 1 / x, (_, output) => -output * output),
  hypot: pair((x, y) =>
    Variable.binary(x, y, Math.hypot, [(a, _, output) => a / output, (_, b, output) => b / output], "float")
  ),
  lerp,
  addcmul: {
    parameters: ["input", "tensor1", "tensor2", "value"],
    run: scaled(
      "value",
      (args, scale) =>
        add(args.tensor("input"), multiply(scale, multiply(args.tensor("tensor1"), args.tensor("tensor2"))))
    )
  },
  addcdiv: {
    parameters: ["input", "tensor1", "tensor2", "value"],
    run: scaled(
      "value",
      (args, scale) =>
        add(args.tensor("input"), multiply(scale, divide(args.tensor("tensor1"), args.tensor("tensor2"))))
    )
  }
}
