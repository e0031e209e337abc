/** The losses of `torch.nn.functional`. */
import * as Elementwise from "./Elementwise.ts"
import * as Reductions from "./Reductions.ts"
import * as Tensor from "./Tensor.ts"
import type { Arguments, Operation } from "./Value.ts"
import * as Variable from "./Variable.ts"

type Variable = Variable.Variable

type Reduce = (x: Variable) => Variable

const reduction = (args: Arguments): Reduce => {
  const name = args.text("reduction", "mean")
  if (name === "none") return (x) => x
  if (name === "sum") return (x) => Reductions.total(x)
  return name === "mean"
    ? (x) => Reductions.average(x)
    : Tensor.refuse(`reduction is ${name}, expected none, sum or mean`)
}

const distanceLoss = (extra: string | undefined, f: (distance: Variable, scale: number) => Variable): Operation => ({
  parameters: ["input", "target", "size_average", "reduce", "reduction", ...(extra === undefined ? [] : [extra])],
  run: (args) => {
    const distance = Elementwise.subtract(args.tensor("input"), args.tensor("target"))
    return reduction(args)(f(distance, extra === undefined ? 1 : args.number(extra, 1)))
  }
})

const huber = (distance: Variable, delta: number) =>
  Variable.unary(
    distance,
    (d) => Math.abs(d) <= delta ? 0.5 * d * d : delta * (Math.abs(d) - 0.5 * delta),
    (d) => Math.abs(d) <= delta ? d : delta * Math.sign(d)
  )

const smooth = (distance: Variable, beta: number) =>
  beta === 0
    ? Elementwise.absolute(distance)
    : Elementwise.divide(huber(distance, beta), Variable.number(beta))

const binaryCrossEntropyWithLogits: Operation = {
  parameters: ["input", "target", "weight", "size_average", "reduce", "reduction", "pos_weight"],
  run: (args) => {
    if (args.has("pos_weight")) Tensor.refuse("argument pos_weight is not supported")
    const [x, target] = [args.tensor("input"), args.tensor("target")]
    const loss = Elementwise.subtract(Elementwise.softplus(x), Elementwise.multiply(x, target))
    return reduction(args)(args.has("weight") ? Elementwise.multiply(loss, args.tensor("weight")) : loss)
  }
}

/** The Kullback–Leibler divergence per element: target · (log target − input), or 0 where the target is 0. */
const divergence: Operation = {
  parameters: ["input", "target", "size_average", "reduce", "reduction", "log_target"],
  run: (args) => {
    const [x, target] = [args.tensor("input"), args.tensor("target")]
    const isLog = args.flag("log_target", false)
    const weight = isLog ? Elementwise.exp(target) : target
    const entropy = isLog
      ? Elementwise.multiply(weight, target)
      : Variable.unary(target, (value) => value === 0 ? 0 : value * Math.log(value), (value) => Math.log(value) + 1)
    return reduction(args)(Elementwise.subtract(entropy, Elementwise.multiply(weight, x)))
  }
}

const l1 = distanceLoss(undefined, Elementwise.absolute)
const squared = distanceLoss(undefined, Elementwise.square)
const smoothL1 = distanceLoss("beta", smooth)
const huberLoss: Operation = {
  parameters: ["input", "target", "reduction", "delta"],
  run: (args) =>
    reduction(args)(huber(Elementwise.subtract(args.tensor("input"), args.tensor("target")), args.number("delta", 1)))
}

export const functions: Readonly<Record<string, Operation>> = {
  "torch.nn.functional.l1_loss": l1,
  "torch.nn.functional.mse_loss": squared,
  "torch.nn.functional.smooth_l1_loss": smoothL1,
  "torch.nn.functional.huber_loss": huberLoss,
  "torch.nn.functional.binary_cross_entropy_with_logits": binaryCrossEntropyWithLogits,
  "torch.nn.functional.kl_div": divergence
}
