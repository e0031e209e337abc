/** Turns a loss that the caller computes into a weighted cross entropy with the same gradient. */
import * as Array from "effect/Array"
import * as Effect from "effect/Effect"
import * as Datum from "../model/Datum.ts"
import { Rejected, TinkerError } from "./TinkerError.ts"
import type { CustomLoss, ForwardBackwardOutput } from "./TrainingClient.ts"

type Data = Array.NonEmptyReadonlyArray<Datum.Datum<"WeightedTokens">>

/** The data of the second pass, and a function that adds the caller's loss and metrics to the output of that pass. */
export interface SecondPass {
  readonly data: Data
  readonly report: (output: ForwardBackwardOutput) => ForwardBackwardOutput
}

const complaint = (gradients: ReadonlyArray<Float32Array>, logprobs: ReadonlyArray<Float32Array>) => {
  if (gradients.length !== logprobs.length) {
    return `gradients has ${gradients.length} arrays, expected ${logprobs.length}`
  }
  for (const [index, gradientT] of gradients.entries()) {
    const expected = logprobs[index]?.length
    if (gradientT.length !== expected) return `gradients[${index}] has ${gradientT.length} values, expected ${expected}`
    const at = gradientT.findIndex((value) => !Number.isFinite(value))
    if (at >= 0) return `gradients[${index}][${at}] is ${gradientT[at]}, expected a finite number`
  }
  return undefined
}

/** The gradient of cross entropy is −weight, so weights of −∂loss/∂logprob give the gradient of the loss. */
const weighted = (datum: Datum.Datum<"WeightedTokens">, gradientT: Float32Array) =>
  Datum.weightedTokens(datum.modelInput, { ...datum.inputs, weights: gradientT.map((slope) => -slope) })

/**
 * Calls the loss function with the log-probabilities of a forward pass and turns its gradient into cross-entropy data. A backend runs this
 * between the two passes, in submission order. Fails with the loss function's own error, or as `Rejected` if the gradients do not match the
 * data.
 *
 * @example
 * const surrogate = CustomLoss.secondPass(weightedData, (_data, logprobs) =>
 *   Effect.succeed({ loss: 0, gradients: logprobs.map(({ length }) => new Float32Array(length)) }), logprobs)
 */
export const secondPass = Effect.fnUntraced(function*<E, R>(
  data: Data,
  loss: CustomLoss<E, R>,
  logprobs: ReadonlyArray<Float32Array>
): Effect.fn.Return<SecondPass, E | TinkerError, R> {
  const { gradients, loss: value, metrics } = yield* loss(data, logprobs)
  const detail = complaint(gradients, logprobs)
  if (detail !== undefined) {
    return yield* new TinkerError({ operation: "forwardBackwardCustom", reason: new Rejected({ detail }) })
  }
  return {
    data: Array.map(data, (datum, index) => weighted(datum, gradients[index] ?? new Float32Array())),
    report: (output) => ({ ...output, metrics: { ...output.metrics, ...metrics, "loss:sum": value } })
  }
})
