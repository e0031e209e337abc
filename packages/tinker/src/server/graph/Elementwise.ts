/** Functions of each element alone, with their slopes. */
import { spend } from "./Cost.ts"
import { binary, unary } from "./Pointwise.ts"
import * as Tensor from "./Tensor.ts"
import * as Variable from "./Variable.ts"

type Variable = Variable.Variable

export const sigmoidOf = (x: number) => x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x))

/** log(1 + eˣ) that does not overflow. */
export const softplusOf = (x: number) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)))

export const add = binary((a, b) => a + b, [() => 1, () => 1])

export const subtract = binary((a, b) => a - b, [() => 1, () => -1])

export const multiply = binary((a, b) => a * b, [(_, b) => b, (a) => a])

export const divide = binary((a, b) => a / b, [(_, b) => 1 / b, (_, b, output) => -output / b], "float")

export const exp = unary(Math.exp, (_, output) => output)

export const log = unary(Math.log, (a) => 1 / a)

export const sqrt = unary(Math.sqrt, (_, output) => 0.5 / output)

export const negate = unary((a) => -a, () => -1, "same")

export const square = unary((a) => a * a, (a) => 2 * a, "same")

export const absolute = unary(Math.abs, Math.sign, "same")

export const relu = unary((a) => Math.max(a, 0), (a) => a > 0 ? 1 : 0, "same")

export const softplus = unary(softplusOf, sigmoidOf)

export const logSigmoid = unary((a) => -softplusOf(-a), (a) => sigmoidOf(-a))

export const sigmoid = unary(sigmoidOf, (_, output) => output * (1 - output))

/** Equal elements share the gradient, as in torch. */
const sharing = (isChosen: (x: number, y: number) => boolean) =>
  [
    (x: number, y: number) => x === y ? 0.5 : isChosen(x, y) ? 1 : 0,
    (x: number, y: number) => x === y ? 0.5 : isChosen(x, y) ? 0 : 1
  ] as const

export const minimum = binary(Math.min, sharing((a, b) => a < b))

export const maximum = binary(Math.max, sharing((a, b) => a > b))

/** One of two values by a condition, without a gradient through the other. */
export const where = (condition: Variable, x: Variable, y: Variable): Variable => {
  const kind = Tensor.promote(x.tensor, y.tensor)
  const shape = Tensor.broadcast(condition.tensor.shape, Tensor.broadcast(x.tensor.shape, y.tensor.shape))
  const expand = (one: Variable) => Variable.gather(one, shape, Tensor.broadcastIndex(one.tensor.shape, shape))
  const chosen = expand(condition).tensor.data
  const [left, right] = [expand(x), expand(y)]
  const both = Variable.concatenate([left, right], [2 * chosen.length])
  spend(2 * chosen.length)
  const index = Int32Array.from(chosen, (value, i) => value === 0 ? chosen.length + i : i)
  return Variable.gather({ ...both, tensor: Tensor.make(kind, both.tensor.shape, both.tensor.data) }, shape, index)
}

const never = () => 0

/** `clamp` by a number below: an element on the bound has no gradient, as in torch 2.15. */
export const atLeast = binary((a, b) => a < b ? b : a, [(a, b) => a > b ? 1 : 0, never])

/** `clamp` by a number above: an element on the bound has no gradient, as in torch 2.15. */
export const atMost = binary((a, b) => a > b ? b : a, [(a, b) => a < b ? 1 : 0, never])

/** The two sides of `clamp`, whose bound is a number, or a tensor that shares the gradient of equal elements. */
export const bounds = {
  min: { number: atLeast, tensor: maximum },
  max: { number: atMost, tensor: minimum }
} as const
