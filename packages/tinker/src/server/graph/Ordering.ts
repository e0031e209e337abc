/** Extremes, sorting and quantiles. */
import { type Axes, axesIn, axesOf, membersOf, pick, spread, sumOver } from "./Axes.ts"
import { sorting, spend } from "./Cost.ts"
import * as Elementwise from "./Elementwise.ts"
import * as Tensor from "./Tensor.ts"
import { type NamedTuple, namedTuple, type Operation } from "./Value.ts"
import * as Variable from "./Variable.ts"

type Variable = Variable.Variable

/** Returns a function that finds the position of the first element that beats all others. NaN beats everything, as in torch. */
export const best = ({ tensor: { data } }: Variable, beats: (a: number, b: number) => boolean) =>
(
  members: ReadonlyArray<number>
) =>
  members.reduce((chosen, at) => {
    const [value, found] = [data[at] ?? 0, data[chosen] ?? 0]
    return Number.isNaN(found) ? chosen : Number.isNaN(value) || beats(value, found) ? at : chosen
  })

export const greater = (a: number, b: number) => a > b

export const less = (a: number, b: number) => a < b

/** The smallest or largest value of each group, as `beats` decides. All elements equal to it share its gradient. */
export const extreme = (x: Variable, axes: Axes, beats: (a: number, b: number) => boolean): Variable => {
  const chosen = pick(Variable.detach(x), axes, best(x, beats))
  const isExtreme = Variable.binary(x, spread(x, chosen, axes), (a, b) => Number(a === b), undefined, "float")
  const share = Elementwise.divide(isExtreme, spread(x, sumOver(isExtreme, axes), axes))
  const shared = sumOver(Elementwise.multiply(Elementwise.where(isExtreme, x, Variable.number(0)), share), axes)
  return x.isTracked ? { ...shared, tensor: chosen.tensor } : chosen
}

/** Values with their indices along a dimension. */
const withIndices = (x: Variable, shape: Tensor.Shape, index: Int32Array, places: Float64Array): NamedTuple =>
  namedTuple({
    values: Variable.gather(x, shape, index),
    indices: Variable.constant(Tensor.make("int", shape, places))
  })

/** Picks one element of each group along a dimension, with its index. */
const withPlaces = (
  x: Variable,
  dim: number,
  keep: boolean,
  choose: (members: ReadonlyArray<number>) => number
): NamedTuple => {
  const axes = axesOf(x.tensor, [dim], keep)
  const members = membersOf(axes)
  spend(2 * axes.index.length)
  const chosen = members.map(choose)
  const places = Float64Array.from(members, (group, at) => group.indexOf(chosen[at] ?? 0))
  return withIndices(x, axes.shape, Int32Array.from(chosen), places)
}

const ascending = ({ tensor: { data } }: Variable) => (members: ReadonlyArray<number>) => {
  spend(sorting(members.length))
  return [...members].sort((a, b) => (data[a] ?? 0) - (data[b] ?? 0) || a - b)
}

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
      spend(4 * x.tensor.data.length)
      return Variable.number(best(x, beats)([...x.tensor.data.keys()]), "int")
    }
    return withPlaces(x, args.number("dim"), args.flag("keepdim", false), best(x, beats))[1]
  }
})

const cumulativeExtreme = (beats: (a: number, b: number) => boolean): Operation => ({
  parameters: ["input", "dim"],
  run: (args) => {
    const x = args.tensor("input")
    const members = membersOf(axesOf(x.tensor, [args.number("dim")], false))
    spend(4 * x.tensor.data.length)
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
    return withIndices(x, x.tensor.shape, index, places)
  }
})

const sorted = (x: Variable, dim: number, isDescending: boolean, count?: number): NamedTuple => {
  const axes = axesOf(x.tensor, [dim], false)
  const axis = Tensor.axisOf(dim, x.tensor.shape.length)
  const length = count ?? axes.count
  if (length > axes.count || length < 0) Tensor.refuse(`k is ${length}, expected at most ${axes.count}`)
  const { data } = x.tensor
  const sign = isDescending ? -1 : 1
  spend(8 * data.length + sorting(data.length))
  const orders = membersOf(axes).map((members) =>
    members.map((at, place) => ({ at, place })).sort((a, b) =>
      sign * ((data[a.at] ?? 0) - (data[b.at] ?? 0)) || a.place - b.place
    )
  )
  const shape = x.tensor.shape.length === 0 ? [] : x.tensor.shape.map((size, at) => at === axis ? length : size)
  const own = axesOf(Tensor.full("float", shape, 0), [dim], false)
  spend(8 * own.index.length)
  const taken = new Map<number, number>()
  const entries = Array.from(own.index, (group) => {
    const place = taken.get(group) ?? 0
    taken.set(group, place + 1)
    return orders[group]?.[place] ?? { at: 0, place: 0 }
  })
  const places = Float64Array.from(entries, ({ place }) => place)
  return withIndices(x, shape, Int32Array.from(entries, ({ at }) => at), places)
}

const sort: Operation = {
  parameters: ["input", "dim", "descending", "stable"],
  run: (args) => sorted(args.tensor("input"), args.number("dim", -1), args.flag("descending", false))
}

const argsort: Operation = {
  parameters: ["input", "dim", "descending", "stable"],
  run: (args) => {
    return sorted(args.tensor("input"), args.number("dim", -1), args.flag("descending", false))[1]
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

/** A quantile, interpolated linearly between the two nearest values. */
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

/** Operations that are available as `torch.<name>` and as a tensor method, by torch's name. */
export const shared: Readonly<Record<string, Operation>> = {
  cummax: cumulativeExtreme(greater),
  cummin: cumulativeExtreme(less),
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
  quantile
}
