/** Neural network activation functions. */
import { logSigmoid, relu, sigmoid, sigmoidOf, softplusOf } from "./Elementwise.ts"
import { of, one } from "./Operators.ts"
import { type OfOne, unary } from "./Pointwise.ts"
import { erfOf } from "./RealFunctions.ts"
import * as Tensor from "./Tensor.ts"
import type { Arguments, Operation } from "./Value.ts"
import * as Variable from "./Variable.ts"

type Variable = Variable.Variable

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

/** An activation. Torch's in-place variant is refused. */
const activation = (parameters: ReadonlyArray<string>, run: (args: Arguments) => Variable): Operation => ({
  parameters: ["input", ...parameters, "inplace"],
  run: (args) => args.flag("inplace", false) ? Tensor.refuse("argument inplace is true, expected false") : run(args)
})

const ofElement = (f: OfOne): Operation => activation([], (args) => f(args.tensor("input")))

const leakyRelu = activation(["negative_slope"], (args) => {
  const slope = args.number("negative_slope", 0.01)
  return Variable.unary(args.tensor("input"), (x) => x > 0 ? x : slope * x, (x) => x > 0 ? 1 : slope)
})

const elu = activation(["alpha"], (args) => {
  const alpha = args.number("alpha", 1)
  return Variable.unary(
    args.tensor("input"),
    (x) => x > 0 ? x : alpha * Math.expm1(x),
    (x) => x > 0 ? 1 : alpha * Math.exp(x)
  )
})

const silu = unary((x) => x * sigmoidOf(x), (x) => sigmoidOf(x) * (1 + x * (1 - sigmoidOf(x))))

const cumulativeNormal = (x: number) => (1 + erfOf(x / Math.SQRT2)) / 2

const normalDensity = (x: number) => Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI)

const gelu = unary((x) => x * cumulativeNormal(x), (x) => cumulativeNormal(x) + x * normalDensity(x))

const slopeAtZero = Math.sqrt(2 / Math.PI)

/** tanh of √(2/π)·(x + 0.044715x³), the approximation that replaces the error function. */
const tanhOfCubic = (x: number) => Math.tanh(slopeAtZero * (x + 0.044715 * x ** 3))

const geluByTanh = unary((x) => x / 2 * (1 + tanhOfCubic(x)), (x) => {
  const t = tanhOfCubic(x)
  return (1 + t) / 2 + x / 2 * (1 - t * t) * slopeAtZero * (1 + 3 * 0.044715 * x * x)
})

const geluOperation: Operation = {
  parameters: ["input", "approximate"],
  run: (args) => {
    const approximate = args.text("approximate", "none")
    if (approximate !== "none" && approximate !== "tanh") {
      return Tensor.refuse(`argument approximate is ${JSON.stringify(approximate)}, expected "none" or "tanh"`)
    }
    return (approximate === "tanh" ? geluByTanh : gelu)(args.tensor("input"))
  }
}

/** Operations that are available as `torch.<name>` and as a tensor method, by torch's name. */
export const shared: Readonly<Record<string, Operation>> = {
  sigmoid: of(sigmoid),
  relu: of(relu)
}

export const functions: Readonly<Record<string, Operation>> = {
  "torch._C._nn.softplus": softplusOperation,
  "torch._C._nn.log_sigmoid": of(logSigmoid),
  "torch.nn.functional.logsigmoid": of(logSigmoid),
  "torch.nn.functional.softplus": softplusOperation,
  "torch.nn.functional.relu": ofElement(relu),
  "torch.nn.functional.sigmoid": of(sigmoid),
  "torch.nn.functional.tanh": one(Math.tanh, (_, output) => 1 - output * output),
  "torch.nn.functional.leaky_relu": leakyRelu,
  "torch._C._nn.leaky_relu": leakyRelu,
  "torch.nn.functional.elu": elu,
  "torch.nn.functional.silu": ofElement(silu),
  "torch._C._nn.gelu": geluOperation,
  "torch._C._special.special_expit": of(sigmoid)
}
