/** Concatenation, splitting and flipping of tensors. */
import { spend } from "./Cost.ts"
import * as Elementwise from "./Elementwise.ts"
import { selected } from "./Indexing.ts"
import { inPlace, reshaped, sizesOf, swapped } from "./Shapes.ts"
import * as Tensor from "./Tensor.ts"
import type { Operation, Value } from "./Value.ts"
import * as Variable from "./Variable.ts"

type Variable = Variable.Variable

const concatenated = (parts: ReadonlyArray<Variable>, dim: number): Variable => {
  const [first] = parts
  if (first === undefined) return Tensor.refuse("no tensors to put together")
  const axis = Tensor.axisOf(dim, first.tensor.shape.length)
  const lengths = parts.map(({ tensor }) => tensor.shape[axis] ?? 1)
  const total = lengths.reduce((sum, length) => sum + length, 0)
  const shape = first.tensor.shape.with(axis, total)
  for (const { tensor } of parts) {
    if (!Tensor.sameShape(tensor.shape.with(axis, total), shape)) Tensor.refuse("tensors whose shapes do not match")
  }
  const front = parts.map((part) => swapped(part, 0, axis))
  const together = Variable.concatenate(front, front[0]?.tensor.shape.with(0, total) ?? [])
  return swapped(together, 0, axis)
}

const split = (x: Variable, sizes: ReadonlyArray<number>, dim: number): Value => {
  const axis = Tensor.axisOf(dim, x.tensor.shape.length)
  let from = 0
  return sizes.map((size) => {
    const places = Tensor.range(from, size)
    from += size
    return selected(x, axis, places)
  })
}

const lengthsOf = (total: number, size: number) => {
  if (!Number.isInteger(size) || size < 1) return Tensor.refuse(`pieces of ${size}`)
  const count = Math.ceil(total / size)
  spend(Variable.fewest * count)
  return Array.from({ length: count }, (_, i) => Math.min(size, total - i * size))
}

const splitOperation: Operation = {
  parameters: ["input", "split_size", "dim"],
  run: (args) => {
    const x = args.tensor("input")
    const dim = args.number("dim", 0)
    const total = x.tensor.shape[Tensor.axisOf(dim, x.tensor.shape.length)] ?? 1
    const size = args.get("split_size")
    return split(x, typeof size === "number" ? lengthsOf(total, size) : sizesOf(args, "split_size"), dim)
  }
}

const flipped = (x: Variable, dims: ReadonlyArray<number>): Variable =>
  dims.reduce((result, dim) => {
    const axis = Tensor.axisOf(dim, result.tensor.shape.length)
    const length = result.tensor.shape[axis] ?? 1
    return selected(result, axis, Tensor.range(length - 1, length, -1))
  }, x)

const rolled = (x: Variable, shift: number, dim: number | undefined): Variable => {
  if (dim === undefined) return reshaped(rolled(reshaped(x, [-1]), shift, 0), x.tensor.shape)
  const axis = Tensor.axisOf(dim, x.tensor.shape.length)
  const length = x.tensor.shape[axis] ?? 1
  spend(length)
  const places = Float64Array.from({ length }, (_, i) => ((i - shift) % length + length) % length)
  return selected(x, axis, Tensor.make("int", [length], places))
}

/** Differences between neighbouring elements. */
const difference: Operation = {
  parameters: ["input", "n", "dim"],
  run: (args) => {
    const dim = args.number("dim", -1)
    const once = (x: Variable) => {
      const axis = Tensor.axisOf(dim, x.tensor.shape.length)
      const length = Math.max((x.tensor.shape[axis] ?? 1) - 1, 0)
      const from = (start: number) => selected(x, axis, Tensor.range(start, length))
      return Elementwise.subtract(from(1), from(0))
    }
    spend(Variable.fewest * args.number("n", 1))
    return Array.from({ length: args.number("n", 1) }).reduce<Variable>((x) => once(x), args.tensor("input"))
  }
}

const triangle = (isLower: boolean): Operation => ({
  parameters: ["input", "diagonal"],
  run: (args) => {
    const x = args.tensor("input")
    const [rows, columns] = x.tensor.shape
    if (x.tensor.shape.length !== 2 || rows === undefined || columns === undefined) return Tensor.refuse("no matrix")
    const offset = args.number("diagonal", 0)
    const isKept = (at: number) => {
      const above = at % columns - Math.floor(at / columns)
      return isLower ? above <= offset : above >= offset
    }
    spend(4 * x.tensor.data.length)
    const kept = Float64Array.from(x.tensor.data.keys(), (at) => Number(isKept(at)))
    return Elementwise.where(Variable.constant(Tensor.make("bool", x.tensor.shape, kept)), x, Variable.number(0))
  }
})

/** Operations that are available as `torch.<name>` and as a tensor method, by torch's name. */
export const shared: Readonly<Record<string, Operation>> = {
  flip: {
    parameters: ["input", "dims"],
    rest: true,
    run: (args) => flipped(args.tensor("input"), sizesOf(args, "dims"))
  },
  roll: {
    parameters: ["input", "shifts", "dims"],
    run: (args) =>
      rolled(args.tensor("input"), args.number("shifts"), args.has("dims") ? sizesOf(args, "dims")[0] : undefined)
  },
  split: splitOperation,
  chunk: {
    parameters: ["input", "chunks", "dim"],
    run: (args) => {
      const x = args.tensor("input")
      const dim = args.number("dim", 0)
      const total = x.tensor.shape[Tensor.axisOf(dim, x.tensor.shape.length)] ?? 1
      return split(x, lengthsOf(total, Math.ceil(total / args.number("chunks"))), dim)
    }
  },
  unbind: {
    parameters: ["input", "dim"],
    run: (args) => {
      const x = args.tensor("input")
      const axis = Tensor.axisOf(args.number("dim", 0), x.tensor.shape.length)
      return Array.from({ length: x.tensor.shape[axis] ?? 1 }, (_, i) => selected(x, axis, Tensor.scalar(i, "int")))
    }
  },
  diff: difference,
  tril: triangle(true),
  triu: triangle(false)
}

export const functions: Readonly<Record<string, Operation>> = {
  "torch.cat": {
    parameters: ["tensors", "dim"],
    run: (args) => concatenated(args.tensors("tensors"), args.number("dim", 0))
  },
  "torch.concat": {
    parameters: ["tensors", "dim"],
    run: (args) => concatenated(args.tensors("tensors"), args.number("dim", 0))
  },
  "torch.stack": {
    parameters: ["tensors", "dim"],
    run: (args) => {
      const dim = args.number("dim", 0)
      const parts = args.tensors("tensors").map((x) =>
        inPlace(x, x.tensor.shape.toSpliced(Tensor.axisOf(dim, x.tensor.shape.length + 1), 0, 1))
      )
      return concatenated(parts, dim)
    }
  },
  "torch.functional.split": splitOperation
}
