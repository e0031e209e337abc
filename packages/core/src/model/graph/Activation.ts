/** Activation functions of networks. */
import { logSigmoid, relu, sigmoid, sigmoidOf, softplusOf } from "./Elementwise.ts"
import { of, one } from "./Operators.ts"
import { erfOf } from "./RealFunctions.ts"
import type { Operation } from "./Value.ts"
import * as Variable from "./Variable.ts"

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
  sigmoid: of(sigmoid),
  relu: of(relu)
}

export const functions: Readonly<Record<string, Operation>> = {
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
  "torch._C._special.special_expit": of(sigmoid)
}
