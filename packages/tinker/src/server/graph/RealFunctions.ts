/** Exponential, logarithmic, root and trigonometric functions, rounding and the error function. */
import { exp, log, sqrt } from "./Elementwise.ts"
import { of, one, pair, step } from "./Operators.ts"
import { binary } from "./Pointwise.ts"
import type { Operation } from "./Value.ts"
import * as Variable from "./Variable.ts"

type Variable = Variable.Variable

/** The error function with an error of 5e-15: a power series below 2.5, and the continued fraction of its complement above. */
export const erfOf = (x: number): number => {
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

/** Rounds half to even, as in torch. */
const roundOf = (x: number) => {
  const down = Math.floor(x)
  if (x - down !== 0.5) return Math.round(x)
  return down % 2 === 0 ? down : down + 1
}

/** log(eˣ + eʸ), also of infinite values. Its derivatives are torch's: NaN for two equal infinities. */
const logAddExp = binary(
  (x, y) => x === y ? x + Math.LN2 : Math.max(x, y) + Math.log1p(Math.exp(-Math.abs(x - y))),
  [(x, y) => 1 / (1 + Math.exp(y - x)), (x, y) => 1 / (1 + Math.exp(x - y))],
  "float"
)

/** Operations that are available as `torch.<name>` and as a tensor method, by torch's name. */
export const shared: Readonly<Record<string, Operation>> = {
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
  sin: one(Math.sin, Math.cos),
  cos: one(Math.cos, (x) => -Math.sin(x)),
  tan: one(Math.tan, (_, output) => 1 + output * output),
  sinh: one(Math.sinh, Math.cosh),
  cosh: one(Math.cosh, Math.sinh),
  tanh: one(Math.tanh, (_, output) => 1 - output * output),
  asin: one(Math.asin, (x) => 1 / Math.sqrt(1 - x * x)),
  acos: one(Math.acos, (x) => -1 / Math.sqrt(1 - x * x)),
  atan: one(Math.atan, (x) => 1 / (1 + x * x)),
  atan2: pair((x, y) =>
    Variable.binary(x, y, Math.atan2, [(a, b) => b / (a * a + b * b), (a, b) => -a / (a * a + b * b)], "float")
  ),
  erf: one(erfOf, (x) => 2 / Math.sqrt(Math.PI) * Math.exp(-x * x)),
  erfc: one((x) => 1 - erfOf(x), (x) => -2 / Math.sqrt(Math.PI) * Math.exp(-x * x)),
  logit: one((x) => Math.log(x / (1 - x)), (x) => 1 / (x * (1 - x))),
  logaddexp: pair(logAddExp),
  xlogy: pair((x, y) =>
    Variable.binary(
      x,
      y,
      (a, b) => a === 0 ? 0 : a * Math.log(b),
      [(_, b) => Math.log(b), (a, b) => a === 0 ? 0 : a / b],
      "float"
    )
  )
}

export const functions: Readonly<Record<string, Operation>> = {
  "torch._C._special.special_expm1": one(Math.expm1, (_, output) => output + 1),
  "torch._C._special.special_log1p": one(Math.log1p, (x) => 1 / (1 + x)),
  "torch._C._special.special_erf": one(erfOf, (x) => 2 / Math.sqrt(Math.PI) * Math.exp(-x * x))
}
