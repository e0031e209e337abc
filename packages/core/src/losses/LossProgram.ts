/**
 * Evaluates the graphs of loss expressions and their gradients. It is separate from `LossGraph` so that compute threads load only this
 * code.
 *
 * @example
 * const loss = Result.map(LossProgram.compile(lossGraph), (compiled) =>
 *   LossProgram.evaluate(compiled, { logprobs: { data: [-0.5, -0.1], shape: [2] } }))
 */
import * as Result from "effect/Result"
import type { LossGraph } from "./LossGraph.ts"
import * as Execution from "./program/Execution.ts"
import * as TokenProgram from "./program/TokenProgram.ts"
import { Incomputable } from "./program/TokenProgram.ts"

export type { Incomputable }

/** Elementwise functions and their derivatives, by their torch names, and the two sides of `clamp`. */
export { type Binary, bounds, functions, type Unary } from "./program/Pointwise.ts"

/** A graph that is ready to be evaluated. */
export type Compiled = TokenProgram.TokenProgram

/** The values of one input for one datum, row-major. */
export type Values = TokenProgram.Values

/** The inputs of one datum by name. */
export type Inputs = TokenProgram.Inputs

/** The result of evaluating a graph on one datum. */
export type Evaluation = Execution.Evaluation

const incomputable = (cause: unknown) =>
  cause instanceof Incomputable ? cause : new Incomputable("graph", `cannot be read: ${String(cause)}`)

/** Compiles a graph to a program. Fails with the first operation that loss expressions do not have. */
export const compile = (graph: LossGraph): Result.Result<Compiled, Incomputable> =>
  Result.try({ try: () => TokenProgram.make(graph), catch: incomputable })

/** Maximum number of values that may be computed for one datum. */
const mostCost = 2 ** 25

/** An upper bound on the numbers that the program computes for a datum of `tokens` tokens. */
export const costOf: (compiled: Compiled, tokens: number) => number = Execution.costOf

/** Fails if an input other than `logprobs` is missing or misshapen for a datum of `tokens` tokens, or if there is too much to compute. */
export const check = (compiled: Compiled, inputs: Inputs, tokens: number): Result.Result<void, Incomputable> => {
  const misfit = Execution.misfit(compiled, inputs, tokens)
  if (misfit !== undefined) return Result.fail(new Incomputable(...misfit))
  const cost = costOf(compiled, tokens)
  return cost <= mostCost
    ? Result.void
    : Result.fail(
      new Incomputable("graph", `${tokens} tokens take ${cost} numbers to compute, expected at most ${mostCost}`)
    )
}

const checked = (compiled: Compiled, inputs: Inputs): Result.Result<void, Incomputable> => {
  const tokens = Execution.tokensOf(inputs)
  return tokens === undefined
    ? Result.fail(new Incomputable("logprobs", "is not a vector, expected one value per token"))
    : check(compiled, inputs, tokens)
}

const evaluated = (compiled: Compiled, data: ReadonlyArray<Inputs>) =>
  Result.map(
    Result.all(data.map((inputs) => checked(compiled, inputs))),
    () => Execution.evaluate(compiled, data)
  )

/** The value, gradient and metrics of each datum, computed together. Inputs that the graph does not declare are ignored. */
export const evaluateAll = (
  compiled: Compiled,
  data: ReadonlyArray<Inputs>
): Result.Result<ReadonlyArray<Evaluation>, Incomputable> =>
  Result.map(evaluated(compiled, data), (evaluationOf) => data.map((_, datum) => evaluationOf(datum)))

/** The value, gradient and metrics for the inputs of one datum. */
export const evaluate = (compiled: Compiled, inputs: Inputs): Result.Result<Evaluation, Incomputable> =>
  Result.map(evaluated(compiled, [inputs]), (evaluationOf) => evaluationOf(0))

/** Why an evaluation cannot be used for training; undefined if it can. */
export const problem = ({ gradient, hasGradient }: Evaluation): string | undefined => {
  if (!hasGradient) return "the loss does not depend on logprobs: it has no gradient"
  for (let at = 0; at < gradient.length; at++) {
    const slope = gradient[at] ?? NaN
    if (!Number.isFinite(slope)) return `the gradient at token ${at} is ${slope}, expected a finite number`
  }
  return undefined
}
