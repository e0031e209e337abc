/** Operations that change a tensor's shape but keep its elements. */
import * as Tensor from "./Tensor.ts"
import type { Arguments, Operation } from "./Value.ts"
import * as Variable from "./Variable.ts"

type Variable = Variable.Variable

export const inPlace = (x: Variable, shape: Tensor.Shape) =>
  Variable.gather(x, shape, Tensor.places(x.tensor.data.length))

export const reshaped = (x: Variable, sizes: ReadonlyArray<number>): Variable => {
  const count = x.tensor.data.length
  const known = sizes.filter((size) => size !== -1).reduce((product, size) => product * size, 1)
  const shape = sizes.map((size) => size === -1 ? count / known : size)
  return shape.reduce((product, size) => product * size, 1) === count && shape.every(Number.isInteger)
    ? inPlace(x, shape)
    : Tensor.refuse(`${count} elements cannot have the shape [${sizes.join(", ")}]`)
}

const expanded = (x: Variable, sizes: ReadonlyArray<number>): Variable => {
  const own = x.tensor.shape
  const shape = sizes.map((size, axis) => size === -1 ? own[axis - sizes.length + own.length] ?? 1 : size)
  if (!Tensor.sameShape(Tensor.broadcast(own, shape), shape)) {
    Tensor.refuse(`shape [${own.join(", ")}] does not expand to [${shape.join(", ")}]`)
  }
  return Variable.gather(x, shape, Tensor.broadcastIndex(own, shape))
}

const permuted = (x: Variable, axes: ReadonlyArray<number>): Variable => {
  const own = x.tensor.shape
  const order = axes.map((axis) => Tensor.axisOf(axis, own.length))
  if (order.length !== own.length || new Set(order).size !== own.length) {
    Tensor.refuse(`dims [${axes.join(", ")}] of a tensor of ${own.length} dimensions`)
  }
  const strides = Tensor.stridesOf(own)
  const shape = order.map((axis) => own[axis] ?? 1)
  return Variable.gather(x, shape, Tensor.indexOf(shape, order.map((axis) => strides[axis] ?? 0)))
}

export const swapped = (x: Variable, first: number, second: number): Variable => {
  const rank = x.tensor.shape.length
  const [a, b] = [Tensor.axisOf(first, rank), Tensor.axisOf(second, rank)]
  return rank === 0 ? x : permuted(x, x.tensor.shape.map((_, axis) => axis === a ? b : axis === b ? a : axis))
}

const flattened = (args: Arguments): Variable => {
  const x = args.tensor("input")
  const rank = x.tensor.shape.length
  const [from, to] = [Tensor.axisOf(args.number("start_dim", 0), rank), Tensor.axisOf(args.number("end_dim", -1), rank)]
  return rank === 0
    ? reshaped(x, [1])
    : reshaped(x, [...x.tensor.shape.slice(0, from), -1, ...x.tensor.shape.slice(to + 1)])
}

export const sizesOf = (args: Arguments, name: string): ReadonlyArray<number> =>
  args.numbers(name) ?? Tensor.refuse(`argument ${name} is missing`)

const same: Operation = { parameters: ["input", "memory_format"], run: (args) => args.tensor("input") }

/** Operations that are available as `torch.<name>` and as a tensor method, by torch's name. */
export const shared: Readonly<Record<string, Operation>> = {
  reshape: {
    parameters: ["input", "shape"],
    rest: true,
    run: (args) => reshaped(args.tensor("input"), sizesOf(args, "shape"))
  },
  flatten: { parameters: ["input", "start_dim", "end_dim"], run: flattened },
  ravel: { parameters: ["input"], run: (args) => reshaped(args.tensor("input"), [-1]) },
  squeeze: {
    parameters: ["input", "dim"],
    run: (args) => {
      const x = args.tensor("input")
      const dims = args.numbers("dim")?.map((dim) => Tensor.axisOf(dim, x.tensor.shape.length))
      return inPlace(x, x.tensor.shape.filter((size, axis) => size !== 1 || dims?.includes(axis) === false))
    }
  },
  unsqueeze: {
    parameters: ["input", "dim"],
    run: (args) => {
      const x = args.tensor("input")
      return inPlace(x, x.tensor.shape.toSpliced(Tensor.axisOf(args.number("dim"), x.tensor.shape.length + 1), 0, 1))
    }
  },
  permute: {
    parameters: ["input", "dims"],
    rest: true,
    run: (args) => permuted(args.tensor("input"), sizesOf(args, "dims"))
  },
  transpose: {
    parameters: ["input", "dim0", "dim1"],
    run: (args) => swapped(args.tensor("input"), args.number("dim0"), args.number("dim1"))
  },
  t: {
    parameters: ["input"],
    run: (args) =>
      args.tensor("input").tensor.shape.length < 2 ? args.tensor("input") : swapped(args.tensor("input"), 0, 1)
  },
  broadcast_to: {
    parameters: ["input", "size"],
    rest: true,
    run: (args) => expanded(args.tensor("input"), sizesOf(args, "size"))
  }
}

export const methods: Readonly<Record<string, Operation>> = {
  view: {
    parameters: ["input", "shape"],
    rest: true,
    run: (args) => reshaped(args.tensor("input"), sizesOf(args, "shape"))
  },
  view_as: {
    parameters: ["input", "other"],
    run: (args) => reshaped(args.tensor("input"), args.tensor("other").tensor.shape)
  },
  reshape_as: {
    parameters: ["input", "other"],
    run: (args) => reshaped(args.tensor("input"), args.tensor("other").tensor.shape)
  },
  expand: {
    parameters: ["input", "size"],
    rest: true,
    run: (args) => expanded(args.tensor("input"), sizesOf(args, "size"))
  },
  expand_as: {
    parameters: ["input", "other"],
    run: (args) => expanded(args.tensor("input"), args.tensor("other").tensor.shape)
  },
  contiguous: same
}
