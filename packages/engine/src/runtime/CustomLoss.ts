/** A loss computed by the caller, as a weighted cross entropy whose gradient is the same. */
import { Datum, Loss, Pending, type TrainingClient } from "@effect-rl/core"
import * as Array from "effect/Array"
import * as Effect from "effect/Effect"
import { rejected } from "./SamplingCheck.ts"

type Passes = Pick<TrainingClient.TrainingClient, "forward" | "forwardBackward">

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

/** Cross entropy's ∂L/∂lp is −weight, so weights of −∂C/∂lp give the gradient of C. */
const weighted = (datum: Datum.Datum<"WeightedTokens">, gradientT: Float32Array) =>
  Datum.weightedTokens(datum.modelInput, { ...datum.inputs, weights: gradientT.map((slope) => -slope) })

export const forwardBackward = (passes: Passes): TrainingClient.TrainingClient["forwardBackwardCustom"] =>
  Effect.fn("TrainingClient.forwardBackwardCustom")(function*(data, loss) {
    const { logprobs } = yield* Effect.flatMap(passes.forward(data, Loss.crossEntropy), (pending) => pending.await)
    const { gradients, loss: value, metrics } = yield* loss(data, logprobs)
    const detail = complaint(gradients, logprobs)
    if (detail !== undefined) return yield* rejected("forwardBackwardCustom", detail)
    const weightedD = Array.map(data, (datum, index) => weighted(datum, gradients[index] ?? new Float32Array()))
    const pending = yield* passes.forwardBackward(weightedD, Loss.crossEntropy)
    return Pending.map(pending, () => ({ logprobs, metrics: { ...metrics, "loss:sum": value } }))
  })
