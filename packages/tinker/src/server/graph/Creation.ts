/** Tensors created from a shape and a number. */
import { kindOf } from "./Casting.ts"
import { sizesOf } from "./Shapes.ts"
import * as Tensor from "./Tensor.ts"
import type { Arguments, Operation } from "./Value.ts"
import * as Variable from "./Variable.ts"

const filled = (value: (args: Arguments) => number, like: boolean, hasValue: boolean): Operation => ({
  parameters: [like ? "input" : "size", ...(hasValue ? ["fill_value"] : []), "dtype"],
  run: (args) => {
    const kind = kindOf(args.get("dtype")) ?? (like ? args.tensor("input").tensor.kind : "single")
    const shape = like ? args.tensor("input").tensor.shape : sizesOf(args, "size")
    return Variable.constant(Tensor.full(kind, shape, value(args)))
  }
})

const fillValue = (args: Arguments) => args.number("fill_value")

/** An operation that fills a tensor with `value`. It accepts `torch.zeros(2, 3)` and `torch.zeros((2, 3))`. */
const created = (value: number): Operation => ({
  parameters: ["size"],
  rest: true,
  run: (args) => Variable.constant(Tensor.full("single", sizesOf(args, "size"), value))
})

const arange: Operation = {
  parameters: ["start", "end", "step", "dtype"],
  run: (args) => {
    const hasEnd = args.has("end")
    const [start, end] = hasEnd ? [args.number("start", 0), args.number("end")] : [0, args.number("start")]
    const step = args.number("step", 1)
    const count = Math.max(0, Math.ceil((end - start) / step))
    const kind = kindOf(args.get("dtype")) ?? ([start, end, step].every(Number.isInteger) ? "int" : "single")
    return Variable.constant({ ...Tensor.range(start, count, step), kind })
  }
}

export const functions: Readonly<Record<string, Operation>> = {
  "torch.arange": arange,
  "torch.zeros": created(0),
  "torch.ones": created(1),
  "torch.full": filled(fillValue, false, true),
  "torch.zeros_like": filled(() => 0, true, false),
  "torch.ones_like": filled(() => 1, true, false),
  "torch.full_like": filled(fillValue, true, true)
}

export const methods: Readonly<Record<string, Operation>> = {
  new_zeros: {
    parameters: ["input", "size"],
    run: (args) => Variable.constant(Tensor.full("float", sizesOf(args, "size"), 0))
  },
  new_ones: {
    parameters: ["input", "size"],
    run: (args) => Variable.constant(Tensor.full("float", sizesOf(args, "size"), 1))
  },
  new_full: {
    parameters: ["input", "size", "fill_value"],
    run: (args) => Variable.constant(Tensor.full("float", sizesOf(args, "size"), fillValue(args)))
  }
}
