/** Operations that arrange elements anew, and tensors made from shapes. */
import * as Elementwise from "./Elementwise.ts"
import * as Tensor from "./Tensor.ts"
import { type Arguments, isConstant, isList, isSlice, type Operation, type Slice, type Value } from "./Value.ts"
import * as Variable from "./Variable.ts"

type Variable = Variable.Variable

const inPlace = (x: Variable, shape: Tensor.Shape) => Variable.gather(x, shape, Int32Array.from(x.tensor.data.keys()))

const reshaped = (x: Variable, sizes: ReadonlyArray<number>): Variable => {
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

const swapped = (x: Variable, first: number, second: number): Variable => {
  const rank = x.tensor.shape.length
  const [a, b] = [Tensor.axisOf(first, rank), Tensor.axisOf(second, rank)]
  return rank === 0 ? x : permuted(x, x.tensor.shape.map((_, axis) => axis === a ? b : axis === b ? a : axis))
}

/** Python's bounds of a slice in a sequence of `length`. */
const range = ({ bounds: [start = 0, stop, step = 1] }: Slice, length: number) => {
  if (step <= 0) Tensor.refuse(`a slice with step ${step}`)
  const within = (bound: number) => Math.min(Math.max(bound < 0 ? bound + length : bound, 0), length)
  const from = within(start)
  const to = within(stop ?? length)
  return { from, step, count: Math.max(0, Math.ceil((to - from) / step)) }
}

const placeOf = (index: number, length: number): number => {
  const place = index < 0 ? index + length : index
  return Number.isInteger(index) && place >= 0 && place < length
    ? place
    : Tensor.refuse(`index ${index} of a dimension of ${length}`)
}

/** Elements of dimension `axis` at the places that a tensor of whole numbers gives. */
const selected = (x: Variable, axis: number, places: Tensor.Tensor): Variable => {
  const own = x.tensor.shape
  const strides = Tensor.stridesOf(own)
  const shape = [...own.slice(0, axis), ...places.shape, ...own.slice(axis + 1)]
  const outer = Tensor.indexOf(
    shape,
    [...strides.slice(0, axis), ...places.shape.map(() => 0), ...strides.slice(axis + 1)]
  )
  const inner = Tensor.indexOf(shape, [
    ...own.slice(0, axis).map(() => 0),
    ...Tensor.stridesOf(places.shape),
    ...own.slice(axis + 1).map(() => 0)
  ])
  const index = outer.map((at, i) =>
    at + placeOf(places.data[inner[i] ?? 0] ?? 0, own[axis] ?? 0) * (strides[axis] ?? 0)
  )
  return Variable.gather(x, shape, index)
}

/** The elements where a mask of the leading dimensions is set. */
const masked = (x: Variable, mask: Tensor.Tensor): Variable => {
  const own = x.tensor.shape
  if (!Tensor.sameShape(mask.shape, own.slice(0, mask.shape.length))) {
    Tensor.refuse(`a mask of shape [${mask.shape.join(", ")}] for [${own.join(", ")}]`)
  }
  const rest = own.slice(mask.shape.length)
  const flat = reshaped(x, [mask.data.length, ...rest])
  const places = [...mask.data.keys()].filter((at) => mask.data[at] !== 0)
  return selected(flat, 0, Tensor.make("int", [places.length], Float64Array.from(places)))
}

const indexed = (x: Variable, parts: ReadonlyArray<Value>): Variable => {
  const takes = (part: Value) =>
    part === null || isConstant(part, "Ellipsis")
      ? 0
      : Variable.isVariable(part) && part.tensor.kind === "bool"
      ? part.tensor.shape.length
      : 1
  const used = parts.reduce<number>((sum, part) => sum + takes(part), 0)
  if (used > x.tensor.shape.length) {
    Tensor.refuse(`too many indices for a tensor of ${x.tensor.shape.length} dimensions`)
  }
  if (parts.filter((part) => Variable.isVariable(part) || isList(part)).length > 1) {
    Tensor.refuse("more than one tensor as an index")
  }
  let result = x
  let axis = 0
  for (const part of parts) {
    const length = result.tensor.shape[axis] ?? 1
    if (part === null) result = inPlace(result, result.tensor.shape.toSpliced(axis++, 0, 1))
    else if (isConstant(part, "Ellipsis")) axis += x.tensor.shape.length - used
    else if (isSlice(part)) {
      const { count, from, step } = range(part, length)
      const places = Float64Array.from({ length: count }, (_, i) => from + i * step)
      result = selected(result, axis++, Tensor.make("int", [count], places))
    } else if (typeof part === "number") {
      result = selected(result, axis, Tensor.scalar(placeOf(part, length), "int"))
    } else if (Variable.isVariable(part)) {
      const places = part.tensor
      if (places.kind === "bool" && axis > 0) Tensor.refuse("a mask behind other indices")
      if (Tensor.isFloat(places.kind)) Tensor.refuse("an index that is not of whole numbers")
      result = places.kind === "bool" ? masked(result, places) : selected(result, axis, places)
      axis += places.kind === "bool" ? 1 : places.shape.length
    } else if (isList(part)) {
      const places = part.map((one) => typeof one === "number" ? one : Tensor.refuse("an index that is no number"))
      result = selected(result, axis++, Tensor.make("int", [places.length], Float64Array.from(places)))
    } else Tensor.refuse("an index of this kind")
  }
  return result
}

const getItem: Operation = {
  parameters: ["input", "index"],
  run: (args) => {
    const [x, index] = [args.get("input"), args.get("index")]
    if (Variable.isVariable(x)) return indexed(x, isList(index) ? index : [index])
    if (!isList(x)) return Tensor.refuse("an element of something that is no tensor or tuple")
    if (typeof index === "number") return x[placeOf(index, x.length)]
    if (!isSlice(index)) return Tensor.refuse("an index of this kind")
    const { count, from, step } = range(index, x.length)
    return Array.from({ length: count }, (_, i) => x[from + i * step])
  }
}

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
    const places = Float64Array.from({ length: size }, (_, i) => from + i)
    from += size
    return selected(x, axis, Tensor.make("int", [size], places))
  })
}

const lengthsOf = (total: number, size: number) =>
  size > 0
    ? Array.from({ length: Math.ceil(total / size) }, (_, i) => Math.min(size, total - i * size))
    : Tensor.refuse(`pieces of ${size}`)

const flattened = (args: Arguments): Variable => {
  const x = args.tensor("input")
  const rank = x.tensor.shape.length
  const [from, to] = [Tensor.axisOf(args.number("start_dim", 0), rank), Tensor.axisOf(args.number("end_dim", -1), rank)]
  return rank === 0
    ? reshaped(x, [1])
    : reshaped(x, [...x.tensor.shape.slice(0, from), -1, ...x.tensor.shape.slice(to + 1)])
}

const flipped = (x: Variable, dims: ReadonlyArray<number>): Variable =>
  dims.reduce((result, dim) => {
    const axis = Tensor.axisOf(dim, result.tensor.shape.length)
    const length = result.tensor.shape[axis] ?? 1
    const places = Float64Array.from({ length }, (_, i) => length - 1 - i)
    return selected(result, axis, Tensor.make("int", [length], places))
  }, x)

const rolled = (x: Variable, shift: number, dim: number | undefined): Variable => {
  if (dim === undefined) return reshaped(rolled(reshaped(x, [-1]), shift, 0), x.tensor.shape)
  const axis = Tensor.axisOf(dim, x.tensor.shape.length)
  const length = x.tensor.shape[axis] ?? 1
  const places = Float64Array.from({ length }, (_, i) => ((i - shift) % length + length) % length)
  return selected(x, axis, Tensor.make("int", [length], places))
}

/** One element of a dimension for each place of an index of the same rank. */
const gathered: Operation = {
  parameters: ["input", "dim", "index"],
  run: (args) => {
    const [x, places] = [args.tensor("input"), args.tensor("index").tensor]
    const axis = Tensor.axisOf(args.number("dim"), x.tensor.shape.length)
    const strides = Tensor.stridesOf(x.tensor.shape)
    const others = Tensor.indexOf(places.shape, strides.map((stride, at) => at === axis ? 0 : stride))
    return Variable.gather(
      x,
      places.shape,
      others.map((at, i) => at + placeOf(places.data[i] ?? 0, x.tensor.shape[axis] ?? 1) * (strides[axis] ?? 1))
    )
  }
}

/** Differences of neighbours. */
const difference: Operation = {
  parameters: ["input", "n", "dim"],
  run: (args) => {
    const dim = args.number("dim", -1)
    const once = (x: Variable) => {
      const axis = Tensor.axisOf(dim, x.tensor.shape.length)
      const length = Math.max((x.tensor.shape[axis] ?? 1) - 1, 0)
      const from = (start: number) =>
        selected(x, axis, Tensor.make("int", [length], Float64Array.from({ length }, (_, i) => start + i)))
      return Elementwise.subtract(from(1), from(0))
    }
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
    const kept = Float64Array.from(x.tensor.data.keys(), (at) => Number(isKept(at)))
    return Elementwise.where(Variable.constant(Tensor.make("bool", x.tensor.shape, kept)), x, Variable.number(0))
  }
})

const kinds = new Map<string, Tensor.Kind>([
  ...["float64", "double"].map((name) => [name, "float"] as const),
  ...["float", "float16", "float32", "bfloat16", "half"].map((name) => [name, "single"] as const),
  ...["int", "int8", "int16", "int32", "int64", "long", "uint8", "short"].map((name) => [name, "int"] as const),
  ["bool", "bool"]
])

export const kindOf = (value: Value): Tensor.Kind | undefined =>
  isConstant(value, "dtype") ? kinds.get(value.name) : undefined

/** Half precision is taken for float32; whole numbers are cut towards 0. */
const cast = (x: Variable, kind: Tensor.Kind): Variable => {
  if (kind === x.tensor.kind) return x
  if (Tensor.isFloat(kind)) return Variable.whole(Tensor.make(kind, x.tensor.shape, x.tensor.data), x, (slope) => slope)
  const f = kind === "int" ? Math.trunc : (value: number) => Number(value !== 0)
  return Variable.unary(x, f, undefined, kind)
}

const castTo = (kind: Tensor.Kind): Operation => ({
  parameters: ["input"],
  run: (args) => cast(args.tensor("input"), kind)
})

const convert: Operation = {
  parameters: ["input", "dtype", "other", "last"],
  run: (args) => {
    const x = args.tensor("input")
    const second = args.get("dtype")
    if (Variable.isVariable(second)) return cast(x, second.tensor.kind)
    const kind = ["dtype", "other", "last"].map((name) => kindOf(args.get(name))).find((found) => found !== undefined)
    return kind === undefined ? x : cast(x, kind)
  }
}

export const sizesOf = (args: Arguments, name: string): ReadonlyArray<number> =>
  args.numbers(name) ?? Tensor.refuse(`argument ${name} is missing`)

const names: Readonly<Record<Tensor.Kind, string>> = { float: "float64", single: "float32", int: "int64", bool: "bool" }

const attribute: Operation = {
  parameters: ["input", "name"],
  run: (args) => {
    const x = args.tensor("input")
    const { kind, shape } = x.tensor
    switch (args.text("name", "")) {
      case "shape":
        return shape
      case "ndim":
        return shape.length
      case "dtype":
        return { _tag: "dtype", name: names[kind] }
      case "device":
        return { _tag: "device", name: "cpu" }
      case "T":
      case "mT":
        return shape.length < 2 ? x : swapped(x, -1, -2)
      case "real":
      case "data":
        return args.text("name", "") === "data" ? Variable.detach(x) : x
      default:
        return Tensor.refuse(`attribute ${args.text("name", "")} is not supported`)
    }
  }
}

const same: Operation = { parameters: ["input", "memory_format"], run: (args) => args.tensor("input") }

/** Named as torch names them, both `torch.<name>` and the method of a tensor. */
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
  },
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
  narrow: {
    parameters: ["input", "dim", "start", "length"],
    run: (args) => {
      const x = args.tensor("input")
      const [from, length] = [args.number("start"), args.number("length")]
      const places = Float64Array.from({ length }, (_, i) => from + i)
      return selected(x, Tensor.axisOf(args.number("dim"), x.tensor.shape.length), Tensor.make("int", [length], places))
    }
  },
  select: {
    parameters: ["input", "dim", "index"],
    run: (args) => {
      const x = args.tensor("input")
      const axis = Tensor.axisOf(args.number("dim"), x.tensor.shape.length)
      return selected(x, axis, Tensor.scalar(args.number("index"), "int"))
    }
  },
  split: {
    parameters: ["input", "split_size", "dim"],
    run: (args) => {
      const x = args.tensor("input")
      const dim = args.number("dim", 0)
      const total = x.tensor.shape[Tensor.axisOf(dim, x.tensor.shape.length)] ?? 1
      const size = args.get("split_size")
      return split(x, typeof size === "number" ? lengthsOf(total, size) : sizesOf(args, "split_size"), dim)
    }
  },
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
  gather: gathered,
  take_along_dim: { ...gathered, parameters: ["input", "index", "dim"] },
  index_select: {
    parameters: ["input", "dim", "index"],
    run: (args) => {
      const x = args.tensor("input")
      return selected(x, Tensor.axisOf(args.number("dim"), x.tensor.shape.length), args.tensor("index").tensor)
    }
  },
  masked_select: {
    parameters: ["input", "mask"],
    run: (args) => masked(args.tensor("input"), args.tensor("mask").tensor)
  },
  diff: difference,
  tril: triangle(true),
  triu: triangle(false),
  clone: same,
  detach: { parameters: ["input"], run: (args) => Variable.detach(args.tensor("input")) },
  numel: { parameters: ["input"], run: (args) => args.tensor("input").tensor.data.length }
}

export const functions: Readonly<Record<string, Operation>> = {
  "getattr": attribute,
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
  "torch.functional.split": shared["split"] ?? same
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
  contiguous: same,
  cpu: same,
  requires_grad_: { parameters: ["input", "requires_grad"], run: (args) => args.tensor("input") },
  to: convert,
  type_as: convert,
  type: convert,
  float: castTo("single"),
  double: castTo("float"),
  half: castTo("single"),
  bfloat16: castTo("single"),
  long: castTo("int"),
  int: castTo("int"),
  bool: castTo("bool"),
  dim: { parameters: ["input"], run: (args) => args.tensor("input").tensor.shape.length },
  ndimension: { parameters: ["input"], run: (args) => args.tensor("input").tensor.shape.length },
  nelement: { parameters: ["input"], run: (args) => args.tensor("input").tensor.data.length },
  size: {
    parameters: ["input", "dim"],
    run: (args) => {
      const { shape } = args.tensor("input").tensor
      return args.has("dim") ? shape[Tensor.axisOf(args.number("dim"), shape.length)] : shape
    }
  }
}

export const operators: Readonly<Record<string, Operation>> = { getitem: getItem }
