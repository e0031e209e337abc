/** Norms of vectors. */
import { type Axes, axesIn, sumOver } from "./Axes.ts"
import * as Elementwise from "./Elementwise.ts"
import { extreme, greater, less } from "./Ordering.ts"
import type { Operation } from "./Value.ts"
import * as Variable from "./Variable.ts"

type Variable = Variable.Variable

/** The p-norm; its gradient is 0 where the norm is 0. */
const normOver = (x: Variable, order: number, axes: Axes): Variable => {
  const size = Elementwise.absolute(x)
  if (order === Infinity) return extreme(size, axes, greater)
  if (order === -Infinity) return extreme(size, axes, less)
  if (order === 0) return sumOver(Variable.unary(x, (value) => Number(value !== 0)), axes)
  if (order === 1) return sumOver(size, axes)
  const total = sumOver(Variable.unary(size, (a) => a ** order, (a) => a === 0 ? 0 : order * a ** (order - 1)), axes)
  return Variable.unary(
    total,
    (value) => value ** (1 / order),
    (value, output) => value === 0 ? 0 : output / (order * value)
  )
}

const norm: Operation = {
  parameters: ["input", "p", "dim", "keepdim", "dtype"],
  run: (args) => {
    const order = args.get("p") === "fro" ? 2 : args.number("p", 2)
    return normOver(args.tensor("input"), order, axesIn(args, args.tensor("input")))
  }
}

const vectorNorm: Operation = {
  parameters: ["input", "ord", "dim", "keepdim", "dtype"],
  run: (args) => normOver(args.tensor("input"), args.number("ord", 2), axesIn(args, args.tensor("input")))
}

/** Operations that are available as `torch.<name>` and as a tensor method, by torch's name. */
export const shared: Readonly<Record<string, Operation>> = {
  norm
}

export const functions: Readonly<Record<string, Operation>> = {
  "torch._C._linalg.linalg_vector_norm": vectorNorm,
  "torch._C._linalg.linalg_norm": vectorNorm,
  "torch.functional.norm": norm
}
