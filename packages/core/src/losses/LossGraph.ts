/**
 * The loss of one datum as data: a graph of torch operations, as the Tinker SDK (0.38) records it from a Python function with
 * `create_custom_loss`. The graphs of loss expressions and their gradients are evaluated in this process (reverse mode, float64), so every
 * backend with `forwardBackwardCustom` can train with them. The server evaluates graphs that it receives from other clients.
 *
 * @see tinker `CustomLossGraph`
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as LossProgram from "./LossProgram.ts"

/** Why a graph is rejected, and at which node; the name `graph` means the whole graph. */
export class LossGraphError extends Schema.TaggedError<LossGraphError>()("LossGraphError", {
  node: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `loss graph, ${this.node}: ${this.detail}`
  }
}

/** An operation, an input or the output. Its arguments are JSON: `{"ref": node}`, `{"tuple": […]}`, `{"float": "inf"}`. */
export const Node = Schema.Struct({
  op: Schema.Literals(["placeholder", "call_function", "call_method", "call_module", "get_attr", "output"]),
  name: Schema.String,
  target: Schema.String,
  args: Schema.Array(Schema.Json),
  kwargs: Schema.Record(Schema.String, Schema.Json)
})
export type Node = typeof Node.Type

/** The nodes of a graph in execution order. */
export const Graph = Schema.Struct({ format: Schema.Literal(1), nodes: Schema.Array(Node) })
export type Graph = typeof Graph.Type

/** An input and its number of dimensions: 0 for a number, 1 for `[T]`, 2 for `[T, K]`. The first input is always `logprobs`. */
export const Input = Schema.Struct({ name: Schema.String, rank: Schema.Literals([0, 1, 2]) })
export type Input = typeof Input.Type

/** A graph, its name and its declared inputs. */
export const LossGraph = Schema.Struct({ name: Schema.String, inputs: Schema.Array(Input), graph: Graph })
export type LossGraph = typeof LossGraph.Type

/** A graph that is ready to be evaluated. */
export type Compiled = LossProgram.Compiled

/** The values of one input for one datum, row-major. */
export type Values = LossProgram.Values

/** The value, gradient and metrics for one datum. */
export type Evaluation = LossProgram.Evaluation

const named = ({ detail, node }: LossProgram.Incomputable) => new LossGraphError({ node, detail })

/**
 * Compiles a graph. Fails with the first operation that loss expressions do not have.
 *
 * @example
 * Result.map(LossGraph.compile(lossGraph), (compiled) =>
 *   LossGraph.evaluate(compiled, { logprobs: { data: [-0.5, -0.1], shape: [2] } }))
 */
export const compile = (graph: LossGraph): Result.Result<Compiled, LossGraphError> =>
  Result.mapError(LossProgram.compile(graph), named)

/** The value, gradient and metrics for one datum. Inputs that the graph does not declare are ignored. Fails as `check` does. */
export const evaluate = (
  compiled: Compiled,
  inputs: Readonly<Record<string, Values>>
): Result.Result<Evaluation, LossGraphError> => Result.mapError(LossProgram.evaluate(compiled, inputs), named)

/**
 * Fails if a declared input other than `logprobs` is missing or has the wrong shape for a datum of `tokens` tokens, or if the graph would
 * compute more than 2²⁵ numbers for it.
 */
export const check = (
  compiled: Compiled,
  inputs: Readonly<Record<string, Values>>,
  tokens: number
): Result.Result<void, LossGraphError> => Result.mapError(LossProgram.check(compiled, inputs, tokens), named)

/** Whether the loss has a gradient: it depends on the log-probabilities other than through `stopGradient`. */
export const hasGradient = ({ loss }: Compiled): boolean => loss.isTracked

/** Combines the metrics of all datums. Metrics whose name ends in `:mean` are averaged over the datums, all others summed. */
export const combineMetrics = (
  evaluations: ReadonlyArray<Pick<Evaluation, "metrics">>
): Readonly<Record<string, number>> => {
  const names = Object.keys(evaluations[0]?.metrics ?? {})
  return Object.fromEntries(names.map((name) => {
    const sum = evaluations.reduce((total, { metrics }) => total + (metrics[name] ?? 0), 0)
    return [name, name.endsWith(":mean") ? sum / evaluations.length : sum]
  }))
}
