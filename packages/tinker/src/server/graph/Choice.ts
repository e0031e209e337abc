/** Operations that select values: clamping, conditions and replacements. */
import { bounds, maximum, minimum, where } from "./Elementwise.ts"
import { pair } from "./Operators.ts"
import * as Tensor from "./Tensor.ts"
import type { Arguments, Operation } from "./Value.ts"
import * as Variable from "./Variable.ts"

type Variable = Variable.Variable

const bounded = (args: Arguments, x: Variable, side: "min" | "max"): Variable =>
  bounds[side][Variable.isVariable(args.get(side)) ? "tensor" : "number"](x, args.tensor(side))

const clampOperation: Operation = {
  parameters: ["input", "min", "max"],
  run: (args) => {
    if (!args.has("min") && !args.has("max")) Tensor.refuse("clamp without a bound")
    const raised = args.has("min") ? bounded(args, args.tensor("input"), "min") : args.tensor("input")
    return args.has("max") ? bounded(args, raised, "max") : raised
  }
}

/**
 * The operation `torch.where`. If both values are Python numbers, the result is float32, as in torch, whatever the
 * condition's type.
 */
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

const clampOne = (side: "min" | "max"): Operation => ({
  parameters: ["input", side],
  run: (args) => bounded(args, args.tensor("input"), side)
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

/** Operations that are available as `torch.<name>` and as a tensor method, by torch's name. */
export const shared: Readonly<Record<string, Operation>> = {
  maximum: pair(maximum),
  minimum: pair(minimum),
  fmax: pair(maximum),
  fmin: pair(minimum),
  clamp: clampOperation,
  clip: clampOperation,
  clamp_min: clampOne("min"),
  clamp_max: clampOne("max"),
  nan_to_num: replaceNaN,
  masked_fill: maskedFill
}

export const functions: Readonly<Record<string, Operation>> = {
  "torch.where": whereOperation
}

export const methods: Readonly<Record<string, Operation>> = { where: whereMethod }
