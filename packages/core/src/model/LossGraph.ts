/**
 * A loss of one datum as data: the graph of torch operations that the Tinker SDK (0.38) records from a Python function with
 * `create_custom_loss`. It is executed here with its gradient (reverse mode, in float64), so that every backend with
 * `forwardBackwardCustom` can train with it. The operations are those of `graph/Whitelist`; a graph with any other is refused.
 *
 * @see tinker `CustomLossGraph`
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Compile from "./graph/Compile.ts"
import { LossGraphError } from "./graph/LossGraphError.ts"
import * as Tensor from "./graph/Tensor.ts"
import { call, isList, type Value } from "./graph/Value.ts"
import * as Variable from "./graph/Variable.ts"

export { LossGraphError } from "./graph/LossGraphError.ts"

/** An operation, an input or the output, with its arguments as JSON: `{"ref": node}`, `{"tuple": […]}`, `{"float": "inf"}`. */
export const Node = Schema.Struct({
  op: Schema.Literals(["placeholder", "call_function", "call_method", "call_module", "get_attr", "output"]),
  name: Schema.String,
  target: Schema.String,
  args: Schema.Array(Schema.Json),
  kwargs: Schema.Record(Schema.String, Schema.Json)
})
export type Node = typeof Node.Type

/** Nodes in the order of execution. */
export const Graph = Schema.Struct({ format: Schema.Literal(1), nodes: Schema.Array(Node) })
export type Graph = typeof Graph.Type

/** An input and its dimensions: 0 for a number, 1 for `[T]`, 2 for `[T, K]`. The first is always `logprobs`. */
export const Input = Schema.Struct({ name: Schema.String, rank: Schema.Literals([0, 1, 2]) })
export type Input = typeof Input.Type

export const LossGraph = Schema.Struct({ name: Schema.String, inputs: Schema.Array(Input), graph: Graph })
export type LossGraph = typeof LossGraph.Type

/** A checked graph. */
export type Compiled = Compile.Compiled

/** One input of a datum, row-major. */
export interface Values {
  readonly data: ArrayLike<number>
  readonly shape: ReadonlyArray<number>
}

export interface Evaluation {
  readonly loss: number
  /** ∂loss/∂logprobs, in the shape of `logprobs`. */
  readonly gradient: Float64Array
  /** Whether the loss is computed from `logprobs` at all, other than through a stopped gradient. */
  readonly hasGradient: boolean
  readonly metrics: Readonly<Record<string, number>>
}

const refusal = (cause: unknown, node: string, title: string) =>
  cause instanceof LossGraphError
    ? cause
    : new LossGraphError({ node, detail: `${title}: ${cause instanceof Error ? cause.message : String(cause)}` })

/** Checks everything about a graph that does not depend on a datum. */
export const compile = (graph: LossGraph): Result.Result<Compiled, LossGraphError> =>
  Result.try({ try: () => Compile.compile(graph), catch: (cause) => refusal(cause, "graph", "cannot be read") })

const inputs = ({ source }: Compiled, given: Readonly<Record<string, Values>>) =>
  source.inputs.map(({ name, rank }) => {
    const values = given[name]
    if (values === undefined) throw new LossGraphError({ node: name, detail: "the datum has no such input" })
    if (values.shape.length !== rank) {
      throw new LossGraphError({ node: name, detail: `has rank ${values.shape.length}, declared with rank ${rank}` })
    }
    const tensor = Tensor.make("float", values.shape, Float64Array.from(values.data))
    return [name, name === "logprobs" ? Variable.input(tensor) : Variable.constant(tensor)] as const
  })

/** Most elements of all values of one evaluation together, so that a graph from outside cannot exhaust the memory. */
const maximumTotal = 2 ** 25

const elementsOf = (value: Value): number => {
  if (Variable.isVariable(value)) return value.tensor.data.length
  return isList(value) ? value.reduce<number>((sum, one) => sum + elementsOf(one), 1) : 1
}

const scalarOf = (values: ReadonlyMap<string, Value>, node: string, what: string): Variable.Variable => {
  const value = values.get(node)
  return Variable.isVariable(value) && value.tensor.data.length === 1 && value.tensor.shape.length === 0
    ? value
    : Tensor.refuse(`${what} is not a scalar tensor`)
}

const run = (compiled: Compiled, given: Readonly<Record<string, Values>>): Evaluation => {
  const values = new Map<string, Value>(inputs(compiled, given))
  const logprobs = values.get("logprobs")
  let total = 0
  for (const { args, named, node, operation, title } of compiled.steps) {
    const step = Result.try({
      try: () =>
        call(operation, args.map((arg) => arg(values)), new Map(named.map(([name, arg]) => [name, arg(values)]))),
      catch: (cause) => refusal(cause, node, title)
    })
    const value = Result.getOrThrow(step)
    total += elementsOf(value)
    if (total > maximumTotal) {
      throw new LossGraphError({ node, detail: `the values up to here have more than ${maximumTotal} elements` })
    }
    values.set(node, value)
  }
  const loss = scalarOf(values, compiled.loss, "the loss")
  const metrics = compiled.metrics.map(([name, node]): [string, number] => [
    name,
    scalarOf(values, node, `metric ${name}`).tensor.data[0] ?? NaN
  ])
  return {
    loss: loss.tensor.data[0] ?? NaN,
    gradient: Variable.isVariable(logprobs) ? Variable.gradient(loss, logprobs) : new Float64Array(),
    hasGradient: loss.isTracked,
    metrics: Object.fromEntries(metrics)
  }
}

/** Value, gradient and metrics for the inputs of one datum, which may be more than the graph reads. */
export const evaluate = (
  compiled: Compiled,
  inputs: Readonly<Record<string, Values>>
): Result.Result<Evaluation, LossGraphError> =>
  Result.try({ try: () => run(compiled, inputs), catch: (cause) => refusal(cause, "output", compiled.source.name) })

/** Metrics of all datums: those named `:mean` are averaged over datums, all others added up. */
export const combineMetrics = (
  evaluations: ReadonlyArray<Evaluation>
): Readonly<Record<string, number>> => {
  const names = Object.keys(evaluations[0]?.metrics ?? {})
  return Object.fromEntries(names.map((name) => {
    const sum = evaluations.reduce((total, { metrics }) => total + (metrics[name] ?? 0), 0)
    return [name, name.endsWith(":mean") ? sum / evaluations.length : sum]
  }))
}
