/** Operations on each element alone. */
import * as Tensor from "./Tensor.ts"
import type { Operation } from "./Value.ts"
import * as Variable from "./Variable.ts"

type Variable = Variable.Variable

const sigmoidOf = (x: number) => x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x))

/** log(1 + eˣ) that does not overflow. */
const softplusOf = (x: number) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)))

/** The error function by its series below 2.5 and the continued fraction of its complement above, to 1e-15. */
const erfOf = (x: number): number => {
  const size = Math.abs(x)
  if (Number.isNaN(x)) return NaN
  if (size > 6) return Math.sign(x)
  if (size < 2.5) {
    let term = x
    let sum = x
    for (let n = 1; n < 100 && Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
      term *= -x * x / n
      sum += term / (2 * n + 1)
    }
    return 2 / Math.sqrt(Math.PI) * sum
  }
  let fraction = size
  for (let n = 60; n > 0; n--) fraction = size + n / 2 / fraction
  return Math.sign(x) * (1 - Math.exp(-size * size) / Math.sqrt(Math.PI) / fraction)
}

/** Rounds half to even, as torch does. */
const roundOf = (x: number) => {
  const down = Math.floor(x)
  if (x - down !== 0.5) return Math.round(x)
  return down % 2 === 0 ? down : down + 1
}

/** The remainder with the sign of the divisor, as Python's. */
const modulo = (x: number, y: number) => x - Math.floor(x / y) * y

export const add = (x: Variable, y: Variable) => Variable.binary(x, y, (a, b) => a + b, [() => 1, () => 1])
export const subtract = (x: Variable, y: Variable) => Variable.binary(x, y, (a, b) => a - b, [() => 1, () => -1])
export const multiply = (x: Variable, y: Variable) => Variable.binary(x, y, (a, b) => a * b, [(_, b) => b, (a) => a])
export const divide = (x: Variable, y: Variable) =>
  Variable.binary(x, y, (a, b) => a / b, [(_, b) => 1 / b, (_, b, output) => -output / b], "float")
export const exp = (x: Variable) => Variable.unary(x, Math.exp, (_, output) => output)
export const log = (x: Variable) => Variable.unary(x, Math.log, (a) => 1 / a)
export const sqrt = (x: Variable) => Variable.unary(x, Math.sqrt, (_, output) => 0.5 / output)
export const negate = (x: Variable) => Variable.unary(x, (a) => -a, () => -1, x.tensor.kind)
export const square = (x: Variable) => Variable.unary(x, (a) => a * a, (a) => 2 * a, x.tensor.kind)
export const absolute = (x: Variable) => Variable.unary(x, Math.abs, Math.sign, x.tensor.kind)
export const relu = (x: Variable) => Variable.unary(x, (a) => Math.max(a, 0), (a) => a > 0 ? 1 : 0, x.tensor.kind)
export const softplus = (x: Variable) => Variable.unary(x, softplusOf, sigmoidOf)
export const logSigmoid = (x: Variable) => Variable.unary(x, (a) => -softplusOf(-a), (a) => sigmoidOf(-a))
export const sigmoid = (x: Variable) => Variable.unary(x, sigmoidOf, (_, output) => output * (1 - output))

/** Equal elements share the gradient, as in torch. */
const sharing = (isChosen: (x: number, y: number) => boolean) =>
  [
    (x: number, y: number) => x === y ? 0.5 : isChosen(x, y) ? 1 : 0,
    (x: number, y: number) => x === y ? 0.5 : isChosen(x, y) ? 0 : 1
  ] as const
export const minimum = (x: Variable, y: Variable) => Variable.binary(x, y, Math.min, sharing((a, b) => a < b))
export const maximum = (x: Variable, y: Variable) => Variable.binary(x, y, Math.max, sharing((a, b) => a > b))

const power = (x: Variable, y: Variable) =>
  Variable.binary(x, y, (a, b) => b === 2 ? a * a : a ** b, [
    (a, b) => b === 0 ? 0 : b === 2 ? 2 * a : b * a ** (b - 1),
    (a, _, output) => a === 0 ? 0 : output * Math.log(a)
  ])

/** One of two values by a condition, without a gradient through the other. */
export const where = (condition: Variable, x: Variable, y: Variable): Variable => {
  const kind = Tensor.promote(x.tensor, y.tensor)
  const shape = Tensor.broadcast(condition.tensor.shape, Tensor.broadcast(x.tensor.shape, y.tensor.shape))
  const expand = (one: Variable) => Variable.gather(one, shape, Tensor.broadcastIndex(one.tensor.shape, shape))
  const chosen = expand(condition).tensor.data
  const [left, right] = [expand(x), expand(y)]
  const both = Variable.concatenate([left, right], [2 * chosen.length])
  const index = Int32Array.from(chosen, (value, i) => value === 0 ? chosen.length + i : i)
  return Variable.gather({ ...both, tensor: Tensor.make(kind, both.tensor.shape, both.tensor.data) }, shape, index)
}

/** Bounds keep the gradient of an element that lies on them. */
export const clamp = (x: Variable, low: Variable | undefined, high: Variable | undefined): Variable => {
  const raised = low === undefined
    ? x
    : Variable.binary(x, low, (a, b) => a < b ? b : a, [(a, b) => a >= b ? 1 : 0, (a, b) => a >= b ? 0 : 1])
  return high === undefined
    ? raised
    : Variable.binary(raised, high, (a, b) => a > b ? b : a, [(a, b) => a <= b ? 1 : 0, (a, b) => a <= b ? 0 : 1])
}

const one = (
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

/** Steps: flat wherever they have a slope. */
const step = (f: (x: number) => number): Operation => ({
  parameters: ["input"],
  run: (args) => Variable.unary(args.tensor("input"), f, undefined, args.tensor("input").tensor.kind)
})

const isTrue = (f: (x: number) => boolean): Operation => ({
  parameters: ["input"],
  run: (args) => Variable.unary(args.tensor("input"), (x) => Number(f(x)), undefined, "bool")
})

const of = (f: (x: Variable) => Variable): Operation => ({
  parameters: ["input"],
  run: (args) => f(args.tensor("input"))
})

/** Python's numbers stay numbers, such as lengths. */
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

const compare = (f: (x: number, y: number) => boolean): Operation =>
  pair((x, y) => Variable.binary(x, y, (a, b) => Number(f(a, b)), undefined, "bool"), f)

const logical = (f: (x: boolean, y: boolean) => boolean): Operation =>
  pair((x, y) => Variable.binary(x, y, (a, b) => Number(f(a !== 0, b !== 0)), undefined, "bool"))

const bitwise = (f: (x: number, y: number) => number): Operation =>
  pair((x, y) =>
    Tensor.isFloat(x.tensor.kind) || Tensor.isFloat(y.tensor.kind)
      ? Tensor.refuse("bitwise logic of numbers that are not whole")
      : Variable.binary(x, y, f), f)

/** `alpha` or `value` times the last operand is added. */
const scaled =
  (name: string, combine: (args: Parameters<Operation["run"]>[0], scale: Variable) => Variable) =>
  (args: Parameters<Operation["run"]>[0]) => combine(args, Variable.number(args.number(name, 1)))

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

const clampOperation: Operation = {
  parameters: ["input", "min", "max"],
  run: (args) => {
    if (!args.has("min") && !args.has("max")) Tensor.refuse("clamp without a bound")
    return clamp(
      args.tensor("input"),
      args.has("min") ? args.tensor("min") : undefined,
      args.has("max") ? args.tensor("max") : undefined
    )
  }
}

const divideOperation: Operation = {
  parameters: ["input", "other", "rounding_mode"],
  run: (args) => {
    const [x, y] = [args.get("input"), args.get("other")]
    if (typeof x === "number" && typeof y === "number") return x / y
    const output = divide(args.tensor("input"), args.tensor("other"))
    if (!args.has("rounding_mode")) return output
    const round = args.text("rounding_mode", "") === "floor" ? Math.floor : Math.trunc
    return Variable.unary(output, round)
  }
}

const floorDivide: Operation = pair(
  (x, y) => Variable.binary(x, y, (a, b) => Math.floor(a / b)),
  (x, y) => Math.floor(x / y)
)

const negateOperation: Operation = {
  parameters: ["input"],
  run: (args) => {
    const x = args.get("input")
    return typeof x === "number" ? -x : negate(args.tensor("input"))
  }
}

/** Python numbers alone become float32 in torch, whatever the tensors are. */
const whereOperation: Operation = {
  parameters: ["condition", "input", "other"],
  run: (args) => {
    const [x, y] = [args.get("input"), args.get("other")]
    return typeof x === "number" && typeof y === "number"
      ? where(args.tensor("condition"), Variable.number(x, "single"), Variable.number(y, "single"))
      : where(args.tensor("condition"), args.tensor("input"), args.tensor("other"))
  }
}

const whereMethod: Operation = {
  parameters: ["input", "condition", "other"],
  run: (args) => where(args.tensor("condition"), args.tensor("input"), args.tensor("other"))
}

const maskedFill: Operation = {
  parameters: ["input", "mask", "value"],
  run: (args) => where(args.tensor("mask"), args.tensor("value"), args.tensor("input"))
}

const clampOne = (bound: "min" | "max"): Operation => ({
  parameters: ["input", bound],
  run: (args) => {
    const limit = args.tensor(bound)
    return bound === "min"
      ? clamp(args.tensor("input"), limit, undefined)
      : clamp(args.tensor("input"), undefined, limit)
  }
})

const replaceNaN: Operation = {
  parameters: ["input", "nan", "posinf", "neginf"],
  run: (args) => {
    const [nan, high, low] = [
      args.number("nan", 0),
      args.number("posinf", 3.4028234663852886e38),
      args.number(
        "neginf",
        -3.4028234663852886e38
      )
    ]
    const replaced = (x: number) => Number.isNaN(x) ? nan : x === Infinity ? high : x === -Infinity ? low : x
    return Variable.unary(args.tensor("input"), replaced, (x) => Number.isFinite(x) ? 1 : 0)
  }
}

const lerp: Operation = {
  parameters: ["input", "end", "weight"],
  run: (args) => {
    const x = args.tensor("input")
    return add(x, multiply(args.tensor("weight"), subtract(args.tensor("end"), x)))
  }
}

const logAddExp = (x: Variable, y: Variable) => add(y, softplus(subtract(x, y)))

const softplusOperation: Operation = {
  parameters: ["input", "beta", "threshold"],
  run: (args) => {
    const [beta, threshold] = [args.number("beta", 1), args.number("threshold", 20)]
    const isLinear = (x: number) => x * beta > threshold
    return Variable.unary(
      args.tensor("input"),
      (x) => isLinear(x) ? x : softplusOf(x * beta) / beta,
      (x) => isLinear(x) ? 1 : sigmoidOf(x * beta)
    )
  }
}

const leakyRelu: Operation = {
  parameters: ["input", "negative_slope"],
  run: (args) => {
    const slope = args.number("negative_slope", 0.01)
    return Variable.unary(args.tensor("input"), (x) => x > 0 ? x : slope * x, (x) => x > 0 ? 1 : slope)
  }
}

const elu: Operation = {
  parameters: ["input", "alpha"],
  run: (args) => {
    const alpha = args.number("alpha", 1)
    return Variable.unary(
      args.tensor("input"),
      (x) => x > 0 ? x : alpha * Math.expm1(x),
      (x) => x > 0 ? 1 : alpha * Math.exp(x)
    )
  }
}

const cumulativeNormal = (x: number) => (1 + erfOf(x / Math.SQRT2)) / 2
const normalDensity = (x: number) => Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI)

/** Named as torch names them, both `torch.<name>` and the method of a tensor. */
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
  sign: step(Math.sign),
  sgn: step(Math.sign),
  floor: step(Math.floor),
  ceil: step(Math.ceil),
  trunc: step(Math.trunc),
  round: step(roundOf),
  frac: one((x) => x - Math.trunc(x), () => 1),
  exp: of(exp),
  exp2: one((x) => 2 ** x, (_, output) => output * Math.LN2),
  expm1: one(Math.expm1, (_, output) => output + 1),
  log: of(log),
  log2: one(Math.log2, (x) => 1 / (x * Math.LN2)),
  log10: one(Math.log10, (x) => 1 / (x * Math.LN10)),
  log1p: one(Math.log1p, (x) => 1 / (1 + x)),
  sqrt: of(sqrt),
  rsqrt: one((x) => 1 / Math.sqrt(x), (x, output) => -0.5 * output / x),
  square: of(square),
  reciprocal: one((x) => 1 / x, (_, output) => -output * output),
  sin: one(Math.sin, Math.cos),
  cos: one(Math.cos, (x) => -Math.sin(x)),
  tan: one(Math.tan, (_, output) => 1 + output * output),
  sinh: one(Math.sinh, Math.cosh),
  cosh: one(Math.cosh, Math.sinh),
  tanh: one(Math.tanh, (_, output) => 1 - output * output),
  asin: one(Math.asin, (x) => 1 / Math.sqrt(1 - x * x)),
  acos: one(Math.acos, (x) => -1 / Math.sqrt(1 - x * x)),
  atan: one(Math.atan, (x) => 1 / (1 + x * x)),
  erf: one(erfOf, (x) => 2 / Math.sqrt(Math.PI) * Math.exp(-x * x)),
  erfc: one((x) => 1 - erfOf(x), (x) => -2 / Math.sqrt(Math.PI) * Math.exp(-x * x)),
  sigmoid: of(sigmoid),
  logit: one((x) => Math.log(x / (1 - x)), (x) => 1 / (x * (1 - x))),
  relu: of(relu),
  maximum: pair(maximum),
  minimum: pair(minimum),
  fmax: pair(maximum),
  fmin: pair(minimum),
  atan2: pair((x, y) =>
    Variable.binary(x, y, Math.atan2, [(a, b) => b / (a * a + b * b), (a, b) => -a / (a * a + b * b)], "float")
  ),
  hypot: pair((x, y) =>
    Variable.binary(x, y, Math.hypot, [(a, _, output) => a / output, (_, b, output) => b / output], "float")
  ),
  logaddexp: pair(logAddExp),
  xlogy: pair((x, y) =>
    Variable.binary(
      x,
      y,
      (a, b) => a === 0 ? 0 : a * Math.log(b),
      [(_, b) => Math.log(b), (a, b) => a === 0 ? 0 : a / b],
      "float"
    )
  ),
  lerp,
  clamp: clampOperation,
  clip: clampOperation,
  clamp_min: clampOne("min"),
  clamp_max: clampOne("max"),
  nan_to_num: replaceNaN,
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
  },
  masked_fill: maskedFill,
  gt: compare((x, y) => x > y),
  greater: compare((x, y) => x > y),
  ge: compare((x, y) => x >= y),
  greater_equal: compare((x, y) => x >= y),
  lt: compare((x, y) => x < y),
  less: compare((x, y) => x < y),
  le: compare((x, y) => x <= y),
  less_equal: compare((x, y) => x <= y),
  eq: compare((x, y) => x === y),
  ne: compare((x, y) => x !== y),
  not_equal: compare((x, y) => x !== y),
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

export const functions: Readonly<Record<string, Operation>> = {
  "torch.where": whereOperation,
  "torch._C._nn.softplus": softplusOperation,
  "torch._C._nn.log_sigmoid": of(logSigmoid),
  "torch.nn.functional.logsigmoid": of(logSigmoid),
  "torch.nn.functional.softplus": softplusOperation,
  "torch.nn.functional.relu": of(relu),
  "torch.nn.functional.sigmoid": of(sigmoid),
  "torch.nn.functional.tanh": one(Math.tanh, (_, output) => 1 - output * output),
  "torch.nn.functional.leaky_relu": leakyRelu,
  "torch._C._nn.leaky_relu": leakyRelu,
  "torch.nn.functional.elu": elu,
  "torch.nn.functional.silu": one((x) => x * sigmoidOf(x), (x) => sigmoidOf(x) * (1 + x * (1 - sigmoidOf(x)))),
  "torch._C._nn.gelu": one((x) => x * cumulativeNormal(x), (x) => cumulativeNormal(x) + x * normalDensity(x)),
  "torch._C._special.special_expit": of(sigmoid),
  "torch._C._special.special_expm1": one(Math.expm1, (_, output) => output + 1),
  "torch._C._special.special_log1p": one(Math.log1p, (x) => 1 / (1 + x)),
  "torch._C._special.special_erf": one(erfOf, (x) => 2 / Math.sqrt(Math.PI) * Math.exp(-x * x))
}

export const methods: Readonly<Record<string, Operation>> = { where: whereMethod }
