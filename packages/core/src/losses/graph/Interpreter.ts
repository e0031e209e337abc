/** Executes loss graphs, with the gradient. Apart from `LossGraph`, so that compute threads load nothing else. */
import * as Result from "effect/Result"
import type { LossGraph } from "../LossGraph.ts"
import * as Compile from "./Compile.ts"
import * as Cost from "./Cost.ts"
import * as Execution from "./Execution.ts"
import { Refusal } from "./Refusal.ts"
import * as Tensor from "./Tensor.ts"
import type * as TokenProgram from "./TokenProgram.ts"
import { call, type Value } from "./Value.ts"
import * as Variable from "./Variable.ts"

export { Refusal } from "./Refusal.ts"

/** A checked graph. */
export type Compiled = Compile.Compiled

/** One input of a datum, row-major. */
export type Values = TokenProgram.Values

/** The result of evaluating a graph on one datum. */
export interface Evaluation {
  readonly loss: number
  /** ∂loss/∂logprobs, in the shape of `logprobs`. */
  readonly gradient: Float64Array
  /** Whether the loss is computed from `logprobs` at all, other than through a stopped gradient. */
  readonly hasGradient: boolean
  /** Numbers that operations read and made: a measure of the work. */
  readonly cost: number
  readonly metrics: Readonly<Record<string, number>>
}

const refusal = (cause: unknown, node: string, title: string) =>
  cause instanceof Refusal || cause instanceof Cost.TooCostly
    ? cause
    : new Refusal(node, `${title}: ${cause instanceof Error ? cause.message : String(cause)}`)

/**
 * Checks everything about a graph that does not depend on a datum.
 *
 * @example
 * const loss = Result.map(LossGraphInterpreter.compile(lossGraph), (compiled) =>
 *   LossGraphInterpreter.evaluate(compiled, { logprobs: { data: [-0.5, -0.1], shape: [2] } }))
 */
export const compile = (graph: LossGraph): Result.Result<Compiled, Refusal> =>
  Result.try({
    try: () => Compile.compile(graph),
    catch: (cause) => cause instanceof Refusal ? cause : new Refusal("graph", `cannot be read: ${String(cause)}`)
  })

const inputs = ({ source }: Compiled, given: TokenProgram.Inputs) =>
  source.inputs.map(({ name, rank }) => {
    const values = given[name]
    if (values === undefined) throw new Refusal(name, "the datum has no such input")
    if (values.shape.length !== rank) {
      throw new Refusal(name, `has rank ${values.shape.length}, declared with rank ${rank}`)
    }
    Cost.spend(values.data.length)
    const tensor = Tensor.make("float", values.shape, Float64Array.from(values.data))
    return [name, name === "logprobs" ? Variable.input(tensor) : Variable.constant(tensor)] as const
  })

/** Most numbers that one evaluation reads and makes, so that a graph from outside cannot exhaust the memory. */
export const maximumCost = 2 ** 24

/** Most numbers in the values of a program for one datum; a program reads and makes no others. */
const maximumProgramCost = 2 ** 25

const scalarOf = (values: ReadonlyMap<string, Value>, node: string, what: string): Variable.Variable => {
  const value = values.get(node)
  return Variable.isVariable(value) && value.tensor.data.length === 1 && value.tensor.shape.length === 0
    ? value
    : Tensor.refuse(`${what} is not a scalar tensor`)
}

const run = (compiled: Compiled, given: TokenProgram.Inputs, reached: (node: string) => void) => {
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
 * Value, gradient and metrics of a graph for the inputs of one datum, at a cost of at most `most` numbers. Inputs that the graph does not
 * read are ignored.
 */
export const evaluate = (
  compiled: Compiled,
  inputs: TokenProgram.Inputs,
  most = maximumCost
): Result.Result<Evaluation, Refusal> => {
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
      return found instanceof Refusal
        ? found
        : new Refusal(at, `the values up to here take more than ${most} numbers to compute: use smaller tensors`, true)
    }
  })
}

/** Whether the program of a graph can compute a datum of so many tokens, apart from its log-probabilities. */
const canCompute = (program: TokenProgram.TokenProgram, inputs: TokenProgram.Inputs, tokens: number): boolean =>
  Execution.fits(program, inputs, tokens) && Execution.costOf(program, tokens) <= maximumProgramCost

/** `evaluate` of many data: at once where the graph has a program, which adds up gradients in another order. */
export const evaluateAll = (
  compiled: Compiled,
  data: ReadonlyArray<TokenProgram.Inputs>
): ReadonlyArray<Result.Result<Evaluation, Refusal>> => {
  const { program } = compiled
  const isComputed = program !== undefined && data.every((inputs) => {
    const tokens = Execution.tokensOf(inputs)
    return tokens !== undefined && canCompute(program, inputs, tokens)
  })
  return isComputed
    ? Execution.evaluate(program, data).map(Result.succeed)
    : data.map((inputs) => evaluate(compiled, inputs))
}

/** The cost of a graph's program for a datum of `tokens` tokens; undefined if the graph has no program or the datum does not fit it. */
export const programCost = ({ program }: Compiled, inputs: TokenProgram.Inputs, tokens: number) =>
  program !== undefined && canCompute(program, inputs, tokens)
    ? { cost: Execution.costOf(program, tokens), hasGradient: program.loss.isTracked }
    : undefined

/** Stands for the log-probabilities of tokens that have none yet. */
const likely = (tokens: number) => ({ data: new Float32Array(tokens).fill(-1), shape: [tokens] })

/** What an evaluation of a datum of so many tokens takes, whatever its log-probabilities are, or why there is none. */
export const dryRun = (
  compiled: Compiled,
  inputs: TokenProgram.Inputs,
  tokens: number
): Result.Result<Pick<Evaluation, "cost" | "hasGradient">, Refusal> => {
  const known = programCost(compiled, inputs, tokens)
  return known === undefined
    ? evaluate(compiled, { ...inputs, logprobs: likely(tokens) })
    : Result.succeed(known)
}

/** Why an evaluation cannot be trained with, in words. */
export const problem = ({ gradient, hasGradient }: Evaluation): string | undefined => {
  if (!hasGradient) return "the loss does not depend on logprobs: it has no gradient"
  for (let at = 0; at < gradient.length; at++) {
    const slope = gradient[at] ?? NaN
    if (!Number.isFinite(slope)) return `the gradient at token ${at} is ${slope}, expected a finite number`
  }
  return undefined
}
