/**
 * A loss of one datum as data: a graph of torch operations, as the Tinker SDK (0.38) records it from a Python function with
 * `create_custom_loss`. The graphs of loss expressions are computed here with their gradient (reverse mode, in float64), so that every
 * backend with `forwardBackwardCustom` can train with them; those of other clients are computed by the server that receives them.
 *
 * @see tinker `CustomLossGraph`
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as LossProgram from "./LossProgram.ts"

/** Why a graph is refused, and at which node; `graph` stands for the graph as a whole. */
export class LossGraphError extends Schema.TaggedError<LossGraphError>()("LossGraphError", {
  node: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `loss graph, ${this.node}: ${this.detail}`
  }
}

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

/** A graph with its name and its declared inputs. */
export const LossGraph = Schema.Struct({ name: Schema.String, inputs: Schema.Array(Input), graph: Graph })
export type LossGraph = typeof LossGraph.Type

/** A graph that can be computed. */
export type Compiled = LossProgram.Compiled

/** One input of a datum, row-major. */
export type Values = LossProgram.Values

/** Value, gradient and metrics of one datum. */
export type Evaluation = LossProgram.Evaluation

const named = ({ detail, node }: LossProgram.Incomputable) => new LossGraphError({ node, detail })

/**
 * Prepares a graph, or names the first of its operations that loss expressions do not have.
 *
 * @example
 * Result.map(LossGraph.compile(lossGraph), (compiled) =>
 *   LossGraph.evaluate(compiled, { logprobs: { data: [-0.5, -0.1], shape: [2] } }))
 */
export const compile = (graph: LossGraph): Result.Result<Compiled, LossGraphError> =>
  Result.mapError(LossProgram.compile(graph), named)

/** Value, gradient and metrics for the inputs of one datum, which may be more than the graph reads. */
export const evaluate = (
  compiled: Compiled,
  inputs: Readonly<Record<string, Values>>
): Result.Result<Evaluation, LossGraphError> => Result.mapError(LossProgram.evaluate(compiled, inputs), named)

/** Fails where a datum of `tokens` tokens lacks an input that the graph reads, or has one of another shape. */
export const check = (
  compiled: Compiled,
  inputs: Readonly<Record<string, Values>>,
  tokens: number
): Result.Result<void, LossGraphError> => Result.mapError(LossProgram.check(compiled, inputs, tokens), named)

/** Whether a loss depends on the log-probabilities, other than through a stopped gradient. */
export const hasGradient = ({ loss }: Compiled): boolean => loss.isTracked

/** Metrics of all datums: those named `:mean` are averaged over datums, all others added up. */
export const combineMetrics = (
  evaluations: ReadonlyArray<Pick<Evaluation, "metrics">>
): Readonly<Record<string, number>> => {
  const names = Object.keys(evaluations[0]?.metrics ?? {})
  return Object.fromEntries(names.map((name) => {
    const sum = evaluations.reduce((total, { metrics }) => total + (metrics[name] ?? 0), 0)
    return [name, name.endsWith(":mean") ? sum / evaluations.length : sum]
  }))
}
