import { Datum, ModelInput } from "@effect-rl/core/backend"
import * as DpoLoss from "@effect-rl/core/preference/DpoLoss"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const datum = Datum.weightedTokens(ModelInput.fromTokens([0]), {
  targetTokens: Int32Array.of(1),
  weights: Float32Array.of(1)
})

const pair = [Float32Array.of(-1), Float32Array.of(-3)]
const reference = [Float32Array.of(-2), Float32Array.of(-2)]

const refusal =
  "data is 3 datums, expected an even number: each pair's chosen response and, next to it, the rejected one"

describe("the loss of direct preference optimisation", () => {
  it.effect("is the logistic loss of the pair's margin", () =>
    Effect.gen(function*() {
      const { gradients, loss } = yield* DpoLoss.make(reference, 0.5)([datum, datum], pair)
      assert.closeTo(loss, Math.log1p(Math.exp(-1)), 1e-15)
      const slope = 0.5 / (1 + Math.E)
      gradients.forEach((gradient, d) => assert.closeTo(gradient[0] ?? NaN, d === 0 ? -slope : slope, 1e-7))
    }))

  it.effect("is refused for an odd number of datums", () =>
    Effect.gen(function*() {
      const [logprobs, others] = [[...pair, Float32Array.of(-1)], [...reference, Float32Array.of(-1)]]
      const data = [datum, datum, datum] as const
      const error = yield* Effect.flip(DpoLoss.make(others, 0.5)(data, logprobs))
      assert.strictEqual(error.message, refusal)
      assert.throws(() => DpoLoss.compute(data, logprobs, others, 0.5), RangeError, refusal)
    }))
})
