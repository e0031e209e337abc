/** Sums, means and logic over one dimension or a whole tensor. */
import { type Axes, axesIn, axesOf, meanOver, membersOf, pick, spread, sumOver } from "./Axes.ts"
import { spend } from "./Cost.ts"
import * as Elementwise from "./Elementwise.ts"
import { best, greater } from "./Ordering.ts"
import * as Tensor from "./Tensor.ts"
import type { Arguments, Operation } from "./Value.ts"
import * as Variable from "./Variable.ts"

type Variable = Variable.Variable

/** The sum of all elements. */
export const total = (x: Variable) => sumOver(x, axesOf(x.tensor, undefined, false))

/** The mean of all elements. */
export const average = (x: Variable) => meanOver(x, axesOf(x.tensor, undefined, false))

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

/**
 * The product of elements. The gradient of an element is the product of the other elements, computed without division.
 */
const product: Operation = {
  parameters: ["input", "dim", "keepdim", "dtype"],
  run: (args) => {
    const x = args.tensor("input")
    const axes = axesIn(args, x)
    const members = membersOf(axes)
    const { data, kind } = x.tensor
    const times = (group: ReadonlyArray<number>, without = -1) =>
      group.reduce((found, at) => at === without ? found : found * (data[at] ?? 0), 1)
    spend(data.length)
    const output = Float64Array.from(members, (group) => times(group))
    return Variable.whole(
      Tensor.make(kind === "bool" ? "int" : kind, axes.shape, output),
      x,
      (gradient) => {
        spend(data.length * axes.count)
        return Float64Array.from(
          data,
          (_, at) => (gradient[axes.index[at] ?? 0] ?? 0) * times(members[axes.index[at] ?? 0] ?? [], at)
        )
      }
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

/** Cumulative sums along a dimension. */
const cumulative = (x: Variable, dim: number): Variable => {
  const axes = axesOf(x.tensor, [dim], false)
  const members = membersOf(axes)
  const { data, kind, shape } = x.tensor
  spend(2 * data.length)
  const output = new Float64Array(data.length)
  for (const group of members) {
    let total = 0
    for (const at of group) {
      total += data[at] ?? 0
      output[at] = total
    }
  }
  return Variable.whole(Tensor.make(kind === "bool" ? "int" : kind, shape, output), x, (gradient) => {
    spend(4 * data.length)
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

const anyOrAll = (start: boolean): Operation => ({
  parameters: ["input", "dim", "keepdim"],
  run: (args) => {
    const x = args.tensor("input")
    const axes = axesIn(args, x)
    spend(axes.index.length)
    const found = membersOf(axes).map((members) => {
      const isTrue = (at: number) => x.tensor.data[at] !== 0
      return Number(start ? members.every(isTrue) : members.some(isTrue))
    })
    return Variable.constant(Tensor.make("bool", axes.shape, Float64Array.from(found)))
  }
})

/** Operations that are available as `torch.<name>` and as a tensor method, by torch's name. */
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
  any: anyOrAll(false),
  all: anyOrAll(true),
  count_nonzero: {
    parameters: ["input", "dim"],
    run: (args) => {
      const isSet = Variable.unary(args.tensor("input"), (value) => Number(value !== 0), undefined, "int")
      return sumOver(isSet, axesOf(isSet.tensor, args.numbers("dim"), false))
    }
  }
}

export const functions: Readonly<Record<string, Operation>> = {
  "torch.nn.functional.softmax": softmaxes(Elementwise.exp),
  "torch.nn.functional.log_softmax": softmaxes((x) => x),
  "torch._C._special.special_logsumexp": {
    parameters: ["input", "dim", "keepdim"],
    run: (args) => logSumExp(args.tensor("input"), axesIn(args, args.tensor("input")))
  }
}
