/** A loss computed by the caller, as a weighted cross entropy whose gradient is the same. */
import * as Array from "effect/Array"
import * as Effect from "effect/Effect"
import * as Datum from "../model/Datum.ts"
import * as Loss from "../model/Loss.ts"
import * as Pending from "./Pending.ts"
import { Rejected, TinkerError } from "./TinkerError.ts"
import type { TrainingClient } from "./TrainingClient.ts"

type Passes = Pick<TrainingClient, "forward" | "forwardBackward">

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

/**
 * Forward, then the caller's function, then its gradient as a weighted backward pass: for backends that have no losses but
 * their own. Fails as `Rejected` where the gradients do not match the data.
 */
export const forwardBackward = (passes: Passes): TrainingClient["forwardBackwardCustom"] =>
  Effect.fn("TrainingClient.forwardBackwardCustom")(function*(data, loss) {
    const { logprobs } = yield* Effect.flatMap(passes.forward(data, Loss.crossEntropy), (pending) => pending.await)
    const { gradients, loss: value, metrics } = yield* loss(data, logprobs)
    const detail = complaint(gradients, logprobs)
    if (detail !== undefined) {
      return yield* new TinkerError({ operation: "forwardBackwardCustom", reason: new Rejected({ detail }) })
    }
    const weightedD = Array.map(data, (datum, index) => weighted(datum, gradients[index] ?? new Float32Array()))
    const pending = yield* passes.forwardBackward(weightedD, Loss.crossEntropy)
    return Pending.map(pending, (output) => ({
      ...output,
      metrics: { ...output.metrics, ...metrics, "loss:sum": value }
    }))
  })
