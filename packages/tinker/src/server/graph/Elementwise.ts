/** Elementwise functions with their derivatives. */
import * as LossProgram from "@effect-rl/core/losses/LossProgram"
import { spend } from "./Cost.ts"
import { binary, unary } from "./Pointwise.ts"
import * as Tensor from "./Tensor.ts"
import * as Variable from "./Variable.ts"

type Variable = Variable.Variable

const { functions } = LossProgram

export const sigmoidOf = functions.sigmoid.f

/** log(1 + eˣ) without overflow. */
export const softplusOf = (x: number) => -functions.logsigmoid.f(-x)

const ofOne = ({ f, slope }: LossProgram.Unary, kind?: "same") => unary(f, slope, kind)

const ofTwo = ({ f, slopes }: LossProgram.Binary, kind?: "float") => binary(f, slopes, kind)

export const add = ofTwo(functions.add)

export const subtract = ofTwo(functions.sub)

export const multiply = ofTwo(functions.mul)

export const divide = ofTwo(functions.div, "float")

export const exp = ofOne(functions.exp)

export const log = ofOne(functions.log)

export const sqrt = ofOne(functions.sqrt)

export const negate = ofOne(functions.neg, "same")

export const square = ofOne(functions.square, "same")

export const absolute = ofOne(functions.abs, "same")

export const relu = unary((a) => Math.max(a, 0), (a) => a > 0 ? 1 : 0, "same")

export const softplus = unary(softplusOf, sigmoidOf)

export const logSigmoid = ofOne(functions.logsigmoid)

export const sigmoid = ofOne(functions.sigmoid)

export const minimum = ofTwo(functions.minimum)

export const maximum = ofTwo(functions.maximum)

/** Selects one of two values by a condition. No gradient flows to the other value. */
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

export const atLeast = ofTwo(LossProgram.bounds.min.number)

export const atMost = ofTwo(LossProgram.bounds.max.number)

/** The two sides of `clamp`. A bound is a number or a tensor; a tensor shares the gradient where the elements are equal. */
export const bounds = {
  min: { number: atLeast, tensor: maximum },
  max: { number: atMost, tensor: minimum }
} as const
