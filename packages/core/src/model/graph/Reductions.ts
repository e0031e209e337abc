/** Operations that take a dimension, or all of a tensor, together. */
import * as Elementwise from "./Elementwise.ts"
import * as Tensor from "./Tensor.ts"
import type { Arguments, Operation, Value } from "./Value.ts"
import * as Variable from "./Variable.ts"

type Variable = Variable.Variable

interface Axes {
  /** The shape with the reduced dimensions kept as 1. */
  readonly kept: Tensor.Shape
  /** The shape of the result. */
  readonly shape: Tensor.Shape
  /** Per element the place in the result. */
  readonly index: Int32Array
  /** Elements that go into one place. */
  readonly count: number
}

const axesOf = ({ shape }: Tensor.Tensor, dims: ReadonlyArray<number> | undefined, keep: boolean): Axes => {
  const rank = shape.length
  const chosen = dims === undefined || dims.length === 0
    ? new Set(shape.keys())
    : new Set(dims.map((dim) => Tensor.axisOf(dim, rank)))
  const kept = shape.map((length, axis) => chosen.has(axis) ? 1 : length)
  const strides = Tensor.stridesOf(kept).map((stride, axis) => chosen.has(axis) ? 0 : stride)
  const count = shape.reduce((product, length, axis) => chosen.has(axis) ? product * length : product, 1)
  return {
    kept,
    shape: keep ? kept : shape.filter((_, axis) => !chosen.has(axis)),
    index: Tensor.indexOf(shape, strides),
    count
  }
}

const axesIn = (args: Arguments, x: Variable) => axesOf(x.tensor, args.numbers("dim"), args.flag("keepdim", false))

const sumOver = (x: Variable, { index, shape }: Axes) => Variable.scatterSum(x, shape, index)

const meanOver = (x: Variable, axes: Axes) => Elementwise.divide(sumOver(x, axes), Variable.number(axes.count))

/** The sum of all elements. */
export const total = (x: Variable) => sumOver(x, axesOf(x.tensor, undefined, false))

/** The mean of all elements. */
export const average = (x: Variable) => meanOver(x, axesOf(x.tensor, undefined, false))

/** A value per group, expanded to the elements it was taken from. */
const spread = (x: Variable, group: Variable, axes: Axes) => Variable.gather(group, x.tensor.shape, axes.index)

/** The members of each group in order, by their place in the data. */
const membersOf = ({ index, shape }: Axes): ReadonlyArray<ReadonlyArray<number>> => {
  const members = Array.from({ length: Tensor.sizeOf(shape) }, (): Array<number> => [])
  index.forEach((group, at) => members[group]?.push(at))
  return members
}

const pick = (x: Variable, axes: Axes, choose: (members: ReadonlyArray<number>) => number): Variable =>
  axes.count === 0
    ? Tensor.refuse("the extreme of no element")
    : Variable.gather(x, axes.shape, Int32Array.from(membersOf(axes), choose))

/** The first member whose value beats all others; NaN beats everything, as in torch. */
const best = ({ tensor: { data } }: Variable, beats: (a: number, b: number) => boolean) =>
(
  members: ReadonlyArray<number>
) =>
  members.reduce((chosen, at) => {
    const [value, found] = [data[at] ?? 0, data[chosen] ?? 0]
    return Number.isNaN(found) ? chosen : Number.isNaN(value) || beats(value, found) ? at : chosen
  })

const greater = (a: number, b: number) => a > b
const less = (a: number, b: number) => a < b

/** All members that equal the extreme share its gradient. */
const extreme = (x: Variable, axes: Axes, beats: (a: number, b: number) => boolean): Variable => {
  const chosen = pick(Variable.detach(x), axes, best(x, beats))
  const isExtreme = Variable.binary(x, spread(x, chosen, axes), (a, b) => Number(a === b), undefined, "float")
  const share = Elementwise.divide(isExtreme, spread(x, sumOver(isExtreme, axes), axes))
  const shared = sumOver(Elementwise.multiply(Elementwise.where(isExtreme, x, Variable.number(0)), share), axes)
  return x.isTracked ? { ...shared, tensor: chosen.tensor } : chosen
}

/** Values and places along one dimension: what torch returns as a named tuple. */
const withPlaces = (
  x: Variable,
  dim: number,
  keep: boolean,
  choose: (members: ReadonlyArray<number>) => number
): Value => {
  const axes = axesOf(x.tensor, [dim], keep)
  const members = membersOf(axes)
  const chosen = members.map(choose)
  const places = Float64Array.from(members, (group, at) => group.indexOf(chosen[at] ?? 0))
  return [
    Variable.gather(x, axes.shape, Int32Array.from(chosen)),
    Variable.constant(Tensor.make("int", axes.shape, places))
  ]
}

const ascending = ({ tensor: { data } }: Variable) => (members: ReadonlyArray<number>) =>
  [...members].sort((a, b) => (data[a] ?? 0) - (data[b] ?? 0) || a - b)

const medianOf = (x: Variable) => (members: ReadonlyArray<number>) =>
  ascending(x)(members)[Math.floor((members.length - 1) / 2)] ?? 0

const minimumOrMaximum = (
  both: (x: Variable, y: Variable) => Variable,
  beats: (a: number, b: number) => boolean
): Operation => ({
  parameters: ["input", "dim", "keepdim", "other"],
  run: (args) => {
    const x = args.tensor("input")
    const second = args.get("dim")
    if (Variable.isVariable(second)) return both(x, second)
    if (args.has("other")) return both(x, args.tensor("other"))
    return args.has("dim")
      ? withPlaces(x, args.number("dim"), args.flag("keepdim", false), best(x, beats))
      : extreme(x, axesOf(x.tensor, undefined, false), beats)
  }
})

const extremeOperation = (beats: (a: number, b: number) => boolean): Operation => ({
  parameters: ["input", "dim", "keepdim"],
  run: (args) => extreme(args.tensor("input"), axesIn(args, args.tensor("input")), beats)
})

const argument = (beats: (a: number, b: number) => boolean): Operation => ({
  parameters: ["input", "dim", "keepdim"],
  run: (args) => {
    const x = args.tensor("input")
    if (!args.has("dim")) {
      return Variable.number(best(x, beats)([...x.tensor.data.keys()]), "int")
    }
    const found = withPlaces(x, args.number("dim"), args.flag("keepdim", false), best(x, beats))
    return Array.isArray(found) ? found[1] : undefined
  }
})

const sum: Operation = {
  parameters: ["input", "dim", "keepdim", "dtype"],
  run: (args) => sumOver(args.tensor("input"), axesIn(args, args.tensor("input")))
}

const mean: Operation = {
  parameters: ["input", "dim", "keepdim", "dtype"],
  run: (args) => {
    const x = args.tensor("input")
    if (!Tensor.isFloat(x.tensor.kind) && !args.has("dtype")) Tensor.refuse("the mean of numbers that are not floats")
    return meanOver(x, axesIn(args, x))
  }
}

/** Product of the others, without a division. */
const product: Operation = {
  parameters: ["input", "dim", "keepdim", "dtype"],
  run: (args) => {
    const x = args.tensor("input")
    const axes = axesIn(args, x)
    const members = membersOf(axes)
    const { data, kind } = x.tensor
    const times = (group: ReadonlyArray<number>, without = -1) =>
      group.reduce((found, at) => at === without ? found : found * (data[at] ?? 0), 1)
    const output = Float64Array.from(members, (group) => times(group))
    return Variable.whole(
      Tensor.make(kind === "bool" ? "int" : kind, axes.shape, output),
      x,
      (gradient) =>
        Float64Array.from(
          data,
          (_, at) => (gradient[axes.index[at] ?? 0] ?? 0) * times(members[axes.index[at] ?? 0] ?? [], at)
        )
    )
  }
}

const variance = (args: Arguments): Variable => {
  const x = args.tensor("input")
  const first = args.get("dim")
  const isUnbiased = typeof first === "boolean" ? first : args.flag("unbiased", true)
  const axes = axesOf(
    x.tensor,
    typeof first === "boolean" ? undefined : args.numbers("dim"),
    args.flag("keepdim", false)
  )
  const correction = args.has("correction") ? args.number("correction") : isUnbiased ? 1 : 0
  const distance = Elementwise.subtract(x, spread(x, meanOver(x, axes), axes))
  const squares = sumOver(Elementwise.square(distance), axes)
  return Elementwise.divide(squares, Variable.number(Math.max(axes.count - correction, 0)))
}

const varianceOperation = (finish: (x: Variable) => Variable): Operation => ({
  parameters: ["input", "dim", "unbiased", "keepdim", "correction"],
  run: (args) => finish(variance(args))
})

const logSumExp = (x: Variable, axes: Axes): Variable => {
  const top = pick(Variable.detach(x), axes, best(x, greater))
  const finite = Variable.unary(top, (value) => Number.isFinite(value) ? value : 0)
  const total = sumOver(Elementwise.exp(Elementwise.subtract(x, spread(x, finite, axes))), axes)
  return Elementwise.add(Elementwise.log(total), finite)
}

const softmaxes = (finish: (x: Variable) => Variable): Operation => ({
  parameters: ["input", "dim", "_stacklevel", "dtype"],
  run: (args) => {
    const x = args.tensor("input")
    const axes = axesOf(x.tensor, [args.number("dim")], false)
    return finish(Elementwise.subtract(x, spread(x, logSumExp(x, axes), axes)))
  }
})

/** Sums over the rest of the same row, from its beginning. */
const cumulative = (x: Variable, dim: number): Variable => {
  const axes = axesOf(x.tensor, [dim], false)
  const members = membersOf(axes)
  const { data, kind, shape } = x.tensor
  const output = new Float64Array(data.length)
  for (const group of members) {
    let total = 0
    for (const at of group) {
      total += data[at] ?? 0
      output[at] = total
    }
  }
  return Variable.whole(Tensor.make(kind === "bool" ? "int" : kind, shape, output), x, (gradient) => {
    const own = new Float64Array(data.length)
    for (const group of members) {
      let total = 0
      for (const at of [...group].reverse()) {
        total += gradient[at] ?? 0
        own[at] = total
      }
    }
    return own
  })
}

const cumulativeExtreme = (beats: (a: number, b: number) => boolean): Operation => ({
  parameters: ["input", "dim"],
  run: (args) => {
    const x = args.tensor("input")
    const members = membersOf(axesOf(x.tensor, [args.number("dim")], false))
    const index = new Int32Array(x.tensor.data.length)
    const places = new Float64Array(index.length)
    for (const group of members) {
      let [chosen, place] = [group[0] ?? 0, 0]
      group.forEach((at, position) => {
        if (!beats(x.tensor.data[chosen] ?? 0, x.tensor.data[at] ?? 0)) [chosen, place] = [at, position]
        index[at] = chosen
        places[at] = place
      })
    }
    return [
      Variable.gather(x, x.tensor.shape, index),
      Variable.constant(Tensor.make("int", x.tensor.shape, places))
    ]
  }
})

/** The p-norm, with slope 0 where it is 0. */
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

const sorted = (x: Variable, dim: number, isDescending: boolean, count?: number): Value => {
  const axes = axesOf(x.tensor, [dim], false)
  const axis = Tensor.axisOf(dim, x.tensor.shape.length)
  const length = count ?? axes.count
  if (length > axes.count || length < 0) Tensor.refuse(`k is ${length}, expected at most ${axes.count}`)
  const { data } = x.tensor
  const sign = isDescending ? -1 : 1
  const orders = membersOf(axes).map((members) =>
    members.map((at, place) => ({ at, place })).sort((a, b) =>
      sign * ((data[a.at] ?? 0) - (data[b.at] ?? 0)) || a.place - b.place
    )
  )
  const shape = x.tensor.shape.length === 0 ? [] : x.tensor.shape.map((size, at) => at === axis ? length : size)
  const own = axesOf(Tensor.full("float", shape, 0), [dim], false)
  const taken = new Map<number, number>()
  const entries = Array.from(own.index, (group) => {
    const place = taken.get(group) ?? 0
    taken.set(group, place + 1)
    return orders[group]?.[place] ?? { at: 0, place: 0 }
  })
  return [
    Variable.gather(x, shape, Int32Array.from(entries, ({ at }) => at)),
    Variable.constant(Tensor.make("int", shape, Float64Array.from(entries, ({ place }) => place)))
  ]
}

const sort: Operation = {
  parameters: ["input", "dim", "descending", "stable"],
  run: (args) => sorted(args.tensor("input"), args.number("dim", -1), args.flag("descending", false))
}

const argsort: Operation = {
  parameters: ["input", "dim", "descending", "stable"],
  run: (args) => {
    const found = sorted(args.tensor("input"), args.number("dim", -1), args.flag("descending", false))
    return Array.isArray(found) ? found[1] : undefined
  }
}

const topk: Operation = {
  parameters: ["input", "k", "dim", "largest", "sorted"],
  run: (args) => sorted(args.tensor("input"), args.number("dim", -1), args.flag("largest", true), args.number("k"))
}

const kthValue: Operation = {
  parameters: ["input", "k", "dim", "keepdim"],
  run: (args) => {
    const x = args.tensor("input")
    const nth = (members: ReadonlyArray<number>) =>
      ascending(x)(members)[args.number("k") - 1] ?? Tensor.refuse(`k is ${args.number("k")} of ${members.length}`)
    return withPlaces(x, args.number("dim", -1), args.flag("keepdim", false), nth)
  }
}

const median: Operation = {
  parameters: ["input", "dim", "keepdim"],
  run: (args) => {
    const x = args.tensor("input")
    return args.has("dim")
      ? withPlaces(x, args.number("dim"), args.flag("keepdim", false), medianOf(x))
      : pick(x, axesOf(x.tensor, undefined, false), medianOf(x))
  }
}

/** Between the two nearest values in proportion. */
const quantile: Operation = {
  parameters: ["input", "q", "dim", "keepdim", "interpolation"],
  run: (args) => {
    if (args.text("interpolation", "linear") !== "linear") Tensor.refuse("only linear interpolation is supported")
    const x = args.tensor("input")
    const share = args.number("q")
    const axes = axesIn(args, x)
    const place = share * (axes.count - 1)
    const at = (position: number) => pick(x, axes, (members) => ascending(x)(members)[position] ?? 0)
    const [low, high] = [at(Math.floor(place)), at(Math.ceil(place))]
    const weight = Variable.number(place - Math.floor(place))
    return Elementwise.add(low, Elementwise.multiply(weight, Elementwise.subtract(high, low)))
  }
}

const anyOrAll = (start: boolean): Operation => ({
  parameters: ["input", "dim", "keepdim"],
  run: (args) => {
    const x = args.tensor("input")
    const axes = axesIn(args, x)
    const found = membersOf(axes).map((members) => {
      const isTrue = (at: number) => x.tensor.data[at] !== 0
      return Number(start ? members.every(isTrue) : members.some(isTrue))
    })
    return Variable.constant(Tensor.make("bool", axes.shape, Float64Array.from(found)))
  }
})

const matrixProduct = (x: Variable, y: Variable): Variable => {
  const [left, right] = [x.tensor.shape, y.tensor.shape]
  if (left.length === 0 || right.length === 0 || left.length > 2 || right.length > 2) {
    return Tensor.refuse(`the matrix product of ${left.length} and ${right.length} dimensions`)
  }
  const [rows, inner] = left.length === 1 ? [1, left[0] ?? 0] : [left[0] ?? 0, left[1] ?? 0]
  const [height, columns] = right.length === 1 ? [right[0] ?? 0, 1] : [right[0] ?? 0, right[1] ?? 0]
  if (inner !== height) Tensor.refuse(`the matrix product of ${inner} columns and ${height} rows`)
  const full = [rows, inner, columns]
  const products = Elementwise.multiply(
    Variable.gather(x, full, Tensor.indexOf(full, [inner, 1, 0])),
    Variable.gather(y, full, Tensor.indexOf(full, [0, columns, 1]))
  )
  const shape = [...(left.length === 1 ? [] : [rows]), ...(right.length === 1 ? [] : [columns])]
  return Variable.scatterSum(products, shape, Tensor.indexOf(full, [columns, 0, 1]))
}

const product2: Operation = {
  parameters: ["input", "other"],
  run: (args) => matrixProduct(args.tensor("input"), args.tensor("other"))
}

/** Named as torch names them, both `torch.<name>` and the method of a tensor. */
export const shared: Readonly<Record<string, Operation>> = {
  sum,
  nansum: {
    ...sum,
    run: (args) => {
      const x = args.tensor("input")
      const isNumber = Variable.unary(x, (value) => Number(!Number.isNaN(value)), undefined, "bool")
      return sumOver(Elementwise.where(isNumber, x, Variable.number(0)), axesIn(args, x))
    }
  },
  mean,
  prod: product,
  var: varianceOperation((x) => x),
  std: varianceOperation(Elementwise.sqrt),
  logsumexp: {
    parameters: ["input", "dim", "keepdim"],
    run: (args) => logSumExp(args.tensor("input"), axesIn(args, args.tensor("input")))
  },
  softmax: softmaxes(Elementwise.exp),
  log_softmax: softmaxes((x) => x),
  cumsum: {
    parameters: ["input", "dim", "dtype"],
    run: (args) => cumulative(args.tensor("input"), args.number("dim"))
  },
  cummax: cumulativeExtreme(greater),
  cummin: cumulativeExtreme(less),
  norm,
  max: minimumOrMaximum(Elementwise.maximum, greater),
  min: minimumOrMaximum(Elementwise.minimum, less),
  amax: extremeOperation(greater),
  amin: extremeOperation(less),
  argmax: argument(greater),
  argmin: argument(less),
  sort,
  argsort,
  topk,
  kthvalue: kthValue,
  median,
  quantile,
  any: anyOrAll(false),
  all: anyOrAll(true),
  count_nonzero: {
    parameters: ["input", "dim"],
    run: (args) => {
      const isSet = Variable.unary(args.tensor("input"), (value) => Number(value !== 0), undefined, "int")
      return sumOver(isSet, axesOf(isSet.tensor, args.numbers("dim"), false))
    }
  },
  matmul: product2,
  mm: product2,
  mv: product2,
  dot: product2,
  inner: product2,
  outer: {
    parameters: ["input", "other"],
    run: (args) => {
      const [x, y] = [args.tensor("input"), args.tensor("other")]
      const column = Variable.gather(x, [x.tensor.data.length, 1], Int32Array.from(x.tensor.data.keys()))
      return Elementwise.multiply(column, y)
    }
  }
}

export const functions: Readonly<Record<string, Operation>> = {
  "torch._C._linalg.linalg_vector_norm": vectorNorm,
  "torch._C._linalg.linalg_norm": vectorNorm,
  "torch.nn.functional.softmax": softmaxes(Elementwise.exp),
  "torch.nn.functional.log_softmax": softmaxes((x) => x),
  "torch._C._special.special_logsumexp": {
    parameters: ["input", "dim", "keepdim"],
    run: (args) => logSumExp(args.tensor("input"), axesIn(args, args.tensor("input")))
  },
  "torch.functional.norm": norm
}
