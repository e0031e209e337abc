/** Tensors that record how they were computed, for reverse-mode differentiation of a loss. */
import { spend } from "./Cost.ts"
import * as Tensor from "./Tensor.ts"

/** ∂output/∂operand for one element. */
export type Slope = (x: number, y: number, output: number) => number

/**
 * The `parents` of a value, and how to compute their gradients from the value's gradient. `pull` returns undefined for
 * a parent that gets no gradient.
 */
interface Origin {
  readonly parents: ReadonlyArray<Variable>
  readonly pull: (gradient: Float64Array) => ReadonlyArray<Float64Array | undefined>
}

export interface Variable {
  readonly tensor: Tensor.Tensor
  /** Whether the value depends on the log-probabilities. */
  readonly isTracked: boolean
  readonly origin?: Origin
}

export const constant = (tensor: Tensor.Tensor): Variable => ({ tensor, isTracked: false })

export const number = (value: number, kind: Tensor.Kind = "float") => constant(Tensor.scalar(value, kind))

/** An input whose gradient is computed. */
export const input = (tensor: Tensor.Tensor): Variable => ({ tensor, isTracked: true })

export const isVariable = (value: unknown): value is Variable =>
  typeof value === "object" && value !== null && "tensor" in value && "isTracked" in value

const derived = (tensor: Tensor.Tensor, parents: ReadonlyArray<Variable>, pull: Origin["pull"]): Variable =>
  Tensor.isFloat(tensor.kind) && parents.some(({ isTracked }) => isTracked)
    ? { tensor, isTracked: true, origin: { parents, pull } }
    : constant(tensor)

/** Applies `f` to each element. Without a `slope`, no gradient flows. */
export const unary = (
  x: Variable,
  f: (x: number) => number,
  slope?: (x: number, output: number) => number,
  kind: Tensor.Kind = "float"
): Variable => {
  const { data, shape } = x.tensor
  spend(2 * data.length)
  const tensor = Tensor.make(kind === "float" && x.tensor.kind === "single" ? "single" : kind, shape, data.map(f))
  const output = tensor.data
  if (slope === undefined) return constant(tensor)
  return derived(tensor, [x], (gradient) => [
    gradient.map((value, i) => value === 0 ? 0 : value * slope(data[i] ?? 0, output[i] ?? 0))
  ])
}

const pulled = (
  operand: Variable,
  index: Int32Array,
  gradient: Float64Array,
  slopeAt: (i: number) => number
): Float64Array | undefined => {
  if (!operand.isTracked) return undefined
  spend(gradient.length + operand.tensor.data.length)
  const own = new Float64Array(operand.tensor.data.length)
  for (let i = 0; i < gradient.length; i++) {
    const value = gradient[i] ?? 0
    const at = index[i] ?? 0
    if (value !== 0) own[at] = (own[at] ?? 0) + value * slopeAt(i)
  }
  return own
}

/** Combines each pair of elements after expanding the operands to their common shape. */
export const binary = (
  x: Variable,
  y: Variable,
  f: (x: number, y: number) => number,
  slopes?: readonly [Slope, Slope],
  kind?: Tensor.Kind
): Variable => {
  const promoted = Tensor.promote(x.tensor, y.tensor)
  const shape = Tensor.broadcast(x.tensor.shape, y.tensor.shape)
  const [fromX, fromY] = [Tensor.broadcastIndex(x.tensor.shape, shape), Tensor.broadcastIndex(y.tensor.shape, shape)]
  const xAt = (i: number) => x.tensor.data[fromX[i] ?? 0] ?? 0
  const yAt = (i: number) => y.tensor.data[fromY[i] ?? 0] ?? 0
  spend(2 * fromX.length)
  const exact = new Float64Array(fromX.length)
  for (let i = 0; i < exact.length; i++) exact[i] = f(xAt(i), yAt(i))
  const tensor = Tensor.make(kind === "float" && promoted === "single" ? promoted : kind ?? promoted, shape, exact)
  const output = tensor.data
  if (slopes === undefined) return constant(tensor)
  const [dx, dy] = slopes
  return derived(tensor, [x, y], (gradient) => [
    pulled(x, fromX, gradient, (i) => dx(xAt(i), yAt(i), output[i] ?? 0)),
    pulled(y, fromY, gradient, (i) => dy(xAt(i), yAt(i), output[i] ?? 0))
  ])
}

/** The minimum cost of an operation, even if it reads and creates no numbers. */
export const fewest = 64

/** Elements of `x` at the given positions, in a new shape; used for slices, transposes, expansions and sorting. */
export const gather = (x: Variable, shape: Tensor.Shape, index: Int32Array): Variable => {
  const { data, kind } = x.tensor
  spend(fewest + 2 * index.length)
  const output = Float64Array.from(index, (at) => data[at] ?? 0)
  return derived(Tensor.make(kind, shape, output), [x], (gradient) => [pulled(x, index, gradient, () => 1)])
}

/** Sums elements of `x` into the given positions of a new shape. */
export const scatterSum = (x: Variable, shape: Tensor.Shape, index: Int32Array): Variable => {
  const { data, kind } = x.tensor
  const size = Tensor.sizeOf(shape)
  spend(size + 2 * data.length)
  const output = new Float64Array(size)
  for (let i = 0; i < data.length; i++) {
    const at = index[i] ?? 0
    output[at] = (output[at] ?? 0) + (data[i] ?? 0)
  }
  return derived(Tensor.make(kind === "bool" ? "int" : kind, shape, output), [x], (gradient) => [
    Float64Array.from(index, (at) => gradient[at] ?? 0)
  ])
}

/** The elements of all tensors, one tensor after another, in a new shape. */
export const concatenate = (parts: ReadonlyArray<Variable>, shape: Tensor.Shape): Variable => {
  const size = Tensor.sizeOf(shape)
  spend(2 * size)
  const output = new Float64Array(size)
  let at = 0
  const starts = parts.map(({ tensor }) => {
    output.set(tensor.data, at)
    at += tensor.data.length
    return at - tensor.data.length
  })
  const [first = Tensor.full("float", [0], 0), ...others] = parts.map(({ tensor }) => tensor)
  const kind = others.reduce((left, right) => ({ ...left, kind: Tensor.promote(left, right) }), first).kind
  return derived(Tensor.make(kind, shape, output), parts, (gradient) =>
    parts.map((part, index) =>
      part.isTracked
        ? gradient.slice(starts[index], (starts[index] ?? 0) + part.tensor.data.length)
        : undefined
    ))
}

/** An operation that computes its whole gradient at once. */
export const whole = (tensor: Tensor.Tensor, x: Variable, pull: (gradient: Float64Array) => Float64Array): Variable =>
  derived(tensor, [x], (gradient) => [pull(gradient)])

/** The value of a variable without its gradient. */
export const detach = ({ tensor }: Variable): Variable => constant(tensor)

/** All values from which a value was computed; each follows its parents. */
const ancestry = (last: Variable): ReadonlyArray<Variable> => {
  const order: Array<Variable> = []
  const seen = new Set<Variable>()
  const stack: Array<{ readonly variable: Variable; readonly isDone: boolean }> = [{ variable: last, isDone: false }]
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { isDone, variable } = next
    if (isDone) order.push(variable)
    if (isDone || seen.has(variable)) continue
    seen.add(variable)
    stack.push({ variable, isDone: true })
    for (const parent of variable.origin?.parents ?? []) {
      if (parent.isTracked) stack.push({ variable: parent, isDone: false })
    }
  }
  return order
}

/** ∂loss/∂`of` for a loss with one element. */
export const gradient = (loss: Variable, of: Variable): Float64Array => {
  const gradients = new Map<Variable, Float64Array>([[loss, Float64Array.of(1)]])
  const order = ancestry(loss)
  for (let at = order.length - 1; at >= 0; at--) {
    const variable = order[at]
    const own = variable === undefined ? undefined : gradients.get(variable)
    if (variable?.origin === undefined || own === undefined) continue
    spend(fewest + 2 * own.length)
    const pulledP = variable.origin.pull(own)
    variable.origin.parents.forEach((parent, index) => {
      const part = pulledP[index]
      if (!parent.isTracked || part === undefined) return
      const sum = gradients.get(parent)
      if (sum !== undefined) spend(2 * sum.length)
      gradients.set(parent, sum === undefined ? part : sum.map((value, i) => value + (part[i] ?? 0)))
    })
  }
  return gradients.get(of) ?? new Float64Array(of.tensor.data.length)
}
