/** The loss thread's computation: evaluates a graph for each datum. */
import type { LossGraph } from "@effect-rl/core/losses"
import * as Result from "effect/Result"
import * as Interpreter from "./graph/Interpreter.ts"

/** The inputs of one datum, with its log-probabilities if they are known. */
export interface Inputs {
  readonly values: Readonly<Record<string, LossGraph.Values>>
  readonly tokens: number
  readonly logprobs?: Float32Array
}

/** A message to the thread: a graph, and the data to evaluate it on. */
export interface Order {
  readonly graph: LossGraph.LossGraph
  readonly data: ReadonlyArray<Inputs>
  /** Maximum count of numbers that all data together may read and compute. */
  readonly mostCost: number
}

/** The loss of one datum. */
export interface Evaluated {
  readonly loss: number
  /** ∂loss/∂logprobs for each token. */
  readonly gradient: Float32Array
  readonly hasGradient: boolean
  readonly metrics: Readonly<Record<string, number>>
}

/** The thread's answer. */
export type Reply =
  | { readonly _tag: "Evaluated"; readonly evaluations: ReadonlyArray<Evaluated> }
  | { readonly _tag: "Refused"; readonly detail: string }

/** Placeholder log-probabilities for a trial run. */
const likely = (tokens: number) => new Float32Array(tokens).fill(-1)

const refused = (detail: string): Reply => ({ _tag: "Refused", detail })

/** Computes an order. Unknown log-probabilities are replaced by −1. */
export const compute = ({ data, graph, mostCost }: Order): Reply => {
  const compiled = Interpreter.compile(graph)
  if (Result.isFailure(compiled)) return refused(`loss graph, ${compiled.failure.message}`)
  const evaluations: Array<Evaluated> = []
  let left = mostCost
  for (const [index, { logprobs, tokens, values }] of data.entries()) {
    const inputs = { ...values, logprobs: { data: logprobs ?? likely(tokens), shape: [tokens] } }
    const most = Math.min(left, Interpreter.maximumCost)
    const evaluated = Interpreter.evaluate(compiled.success, inputs, most)
    if (Result.isFailure(evaluated)) {
      return evaluated.failure.isTooCostly && most === left
        ? refused(
          `the loss ${graph.name} takes more than ${mostCost} numbers for data[0] to data[${index}], ` +
            `expected at most that many in one pass: send fewer datums, or use smaller tensors`
        )
        : refused(`data[${index}]: loss graph, ${evaluated.failure.message}`)
    }
    const { cost, gradient, hasGradient, loss, metrics } = evaluated.success
    left -= cost
    evaluations.push({ loss, gradient: Float32Array.from(gradient), hasGradient, metrics })
  }
  return { _tag: "Evaluated", evaluations }
}
