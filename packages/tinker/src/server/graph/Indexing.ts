/** Selection of elements by position. */
import { spend } from "./Cost.ts"
import { inPlace, reshaped } from "./Shapes.ts"
import * as Tensor from "./Tensor.ts"
import { isConstant, isList, isSlice, type Operation, type Slice, type Value } from "./Value.ts"
import * as Variable from "./Variable.ts"

type Variable = Variable.Variable

/** The bounds of a Python slice of a sequence with `length` elements. */
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

/** Elements along dimension `axis` at the positions in an integer tensor. */
export const selected = (x: Variable, axis: number, places: Tensor.Tensor): Variable => {
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
  spend(2 * outer.length)
  const index = outer.map((at, i) =>
    at + placeOf(places.data[inner[i] ?? 0] ?? 0, own[axis] ?? 0) * (strides[axis] ?? 0)
  )
  return Variable.gather(x, shape, index)
}

/** The elements for which a mask over the leading dimensions is true. */
const masked = (x: Variable, mask: Tensor.Tensor): Variable => {
  const own = x.tensor.shape
  if (!Tensor.sameShape(mask.shape, own.slice(0, mask.shape.length))) {
    Tensor.refuse(`a mask of shape [${mask.shape.join(", ")}] for [${own.join(", ")}]`)
  }
  const rest = own.slice(mask.shape.length)
  const flat = reshaped(x, [mask.data.length, ...rest])
  spend(4 * mask.data.length)
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
      result = selected(result, axis++, Tensor.range(from, count, step))
    } else if (typeof part === "number") {
      result = selected(result, axis, Tensor.scalar(placeOf(part, length), "int"))
    } else if (Variable.isVariable(part)) {
      const places = part.tensor
      if (places.kind === "bool" && axis > 0) Tensor.refuse("a mask after other indices")
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

/** Selects one element along a dimension for each entry of an index of the same rank. */
const gathered: Operation = {
  parameters: ["input", "dim", "index"],
  run: (args) => {
    const [x, places] = [args.tensor("input"), args.tensor("index").tensor]
    const axis = Tensor.axisOf(args.number("dim"), x.tensor.shape.length)
    const strides = Tensor.stridesOf(x.tensor.shape)
    const others = Tensor.indexOf(places.shape, strides.map((stride, at) => at === axis ? 0 : stride))
    spend(2 * others.length)
    return Variable.gather(
      x,
      places.shape,
      others.map((at, i) => at + placeOf(places.data[i] ?? 0, x.tensor.shape[axis] ?? 1) * (strides[axis] ?? 1))
    )
  }
}

/** Operations that are available as `torch.<name>` and as a tensor method, by torch's name. */
export const shared: Readonly<Record<string, Operation>> = {
  narrow: {
    parameters: ["input", "dim", "start", "length"],
    run: (args) => {
      const x = args.tensor("input")
      const [from, length] = [args.number("start"), args.number("length")]
      return selected(x, Tensor.axisOf(args.number("dim"), x.tensor.shape.length), Tensor.range(from, length))
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
  }
}

export const operators: Readonly<Record<string, Operation>> = { getitem: getItem }
