/**
 * Evaluates loss graphs from clients, with gradients by reverse mode in float64. Graphs may use only the operations in `Whitelist`; others
 * are refused.
 */
import type { LossGraph, LossProgram } from "@effect-rl/core/losses"
import * as Result from "effect/Result"
import * as Compile from "./Compile.ts"
import * as Cost from "./Cost.ts"
import { GraphRefusal } from "./GraphRefusal.ts"
import * as Tensor from "./Tensor.ts"
import { call, type Value } from "./Value.ts"
import * as Variable from "./Variable.ts"

export { GraphRefusal } from "./GraphRefusal.ts"

/** A checked graph. */
export type Compiled = Compile.Compiled

/** The inputs of one datum, by name. */
export type Inputs = LossProgram.Inputs

/** The result of evaluating a graph on one datum, in core's form, with its cost. */
export interface Evaluation extends LossProgram.Evaluation {
  /** The count of numbers that operations read and created, as a measure of the work. */
  readonly cost: number
}

const refusal = (cause: unknown, node: string, title: string) =>
  cause instanceof GraphRefusal || cause instanceof Cost.TooCostly
    ? cause
    : new GraphRefusal(node, `${title}: ${cause instanceof Error ? cause.message : String(cause)}`)

/** Checks everything about a graph that does not depend on a datum. */
export const compile = (graph: LossGraph.LossGraph): Result.Result<Compiled, GraphRefusal> =>
  Result.try({
    try: () => Compile.compile(graph),
    catch: (cause) =>
      cause instanceof GraphRefusal ? cause : new GraphRefusal("graph", `cannot be read: ${String(cause)}`)
  })

const inputs = ({ source }: Compiled, given: Inputs) =>
  source.inputs.map(({ name, rank }) => {
    const values = given[name]
    if (values === undefined) throw new GraphRefusal(name, "the datum has no such input")
    if (values.shape.length !== rank) {
      throw new GraphRefusal(name, `has rank ${values.shape.length}, declared with rank ${rank}`)
    }
    Cost.spend(values.data.length)
    const tensor = Tensor.make("float", values.shape, Float64Array.from(values.data))
    return [name, name === "logprobs" ? Variable.input(tensor) : Variable.constant(tensor)] as const
  })

/** Maximum cost of one evaluation, so a graph from a client cannot exhaust the memory. */
export const maximumCost = 2 ** 24

const scalarOf = (values: ReadonlyMap<string, Value>, node: string, what: string): Variable.Variable => {
  const value = values.get(node)
  return Variable.isVariable(value) && value.tensor.data.length === 1 && value.tensor.shape.length === 0
    ? value
    : Tensor.refuse(`${what} is not a scalar tensor`)
}

const run = (compiled: Compiled, given: Inputs, reached: (node: string) => void) => {
  const values = new Map<string, Value>(inputs(compiled, given))
  const logprobs = values.get("logprobs")
  for (const { args, named, node, operation, title } of compiled.steps) {
    reached(node)
    Cost.spend(Variable.fewest)
    const step = Result.try({
      try: () =>
        call(operation, args.map((arg) => arg(values)), new Map(named.map(([name, arg]) => [name, arg(values)]))),
      catch: (cause) => refusal(cause, node, title)
    })
    values.set(node, Result.getOrThrow(step))
  }
  reached("output")
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

/**
 * The value, gradient and metrics of a graph for one datum, at a cost of at most `most` numbers. Inputs that the graph does not read are
 * ignored.
 */
export const evaluate = (
  compiled: Compiled,
  inputs: Inputs,
  most = maximumCost
): Result.Result<Evaluation, GraphRefusal> => {
  let at = "graph"
  const reached = (node: string) => {
    at = node
  }
  return Result.try({
    try: () => {
      const { cost, value } = Cost.within(most, () => run(compiled, inputs, reached))
      return { ...value, cost }
    },
    catch: (cause) => {
      const found = refusal(cause, "output", compiled.source.name)
      return found instanceof GraphRefusal
        ? found
        : new GraphRefusal(
          at,
          `the values up to here take more than ${most} numbers to compute: use smaller tensors`,
          true
        )
    }
  })
}
