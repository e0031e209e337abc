/**
 * A loss of one datum as data: the graph of torch operations that the Tinker SDK (0.38) records from a Python function with
 * `create_custom_loss`. It is executed here with its gradient (reverse mode, in float64), so that every backend with
 * `forwardBackwardCustom` can train with it. The operations are those of `graph/Whitelist`; a graph with any other is refused.
 *
 * @see tinker `CustomLossGraph`
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Interpreter from "./graph/Interpreter.ts"

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

/** A checked graph. */
export type Compiled = Interpreter.Compiled

/** One input of a datum, row-major. */
export type Values = Interpreter.Values

/** Value, gradient and metrics of one datum. */
export type Evaluation = Interpreter.Evaluation

const named = ({ detail, node }: Interpreter.Refusal) => new LossGraphError({ node, detail })

/**
 * Checks everything about a graph that does not depend on a datum.
 *
 * @example
 * Result.map(LossGraph.compile(lossGraph), (compiled) =>
 *   LossGraph.evaluate(compiled, { logprobs: { data: [-0.5, -0.1], shape: [2] } }))
 */
export const compile = (graph: LossGraph): Result.Result<Compiled, LossGraphError> =>
  Result.mapError(Interpreter.compile(graph), named)

/** Value, gradient and metrics for the inputs of one datum, which may be more than the graph reads. */
export const evaluate = (
  compiled: Compiled,
  inputs: Readonly<Record<string, Values>>
): Result.Result<Evaluation, LossGraphError> => Result.mapError(Interpreter.evaluate(compiled, inputs), named)

/** Whether the loss of a datum has a gradient and how many numbers it computes, whatever the log-probabilities of its tokens are. */
export const dryRun = (
  compiled: Compiled,
  inputs: Readonly<Record<string, Values>>,
  tokens: number
): Result.Result<Pick<Evaluation, "cost" | "hasGradient">, LossGraphError> =>
  Result.mapError(Interpreter.dryRun(compiled, inputs, tokens), named)

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
