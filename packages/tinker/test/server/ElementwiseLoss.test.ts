import { Loss } from "@effect-rl/core"
import { Datum, ModelInput } from "@effect-rl/core/backend"
import * as ElementwiseLoss from "@effect-rl/tinker/server/ElementwiseLoss"
import { assert, describe, it } from "@effect/vitest"

const input = ModelInput.fromTokens([1, 2, 3])
const targetTokens = Int32Array.of(2, 3, 4)
const logprobs = Float32Array.of(-1, -2, -0.5)

const sampled = Datum.policyTokens(input, {
  targetTokens,
  logprobs: Float32Array.of(-1.5, -1, -0.25),
  advantages: Float32Array.of(2, -1, 3),
  mask: Float32Array.of(1, 1, 0)
})

const assertClose = (found: Float32Array, expected: ReadonlyArray<number>) => {
  assert.lengthOf(found, expected.length)
  expected.forEach((value, t) => assert.closeTo(found[t] ?? NaN, value, 1e-6))
}

describe("the loss at each position", () => {
  // The ratios are e^0.5 and e^−1; the mean of their logarithms is −0.25.
  const clip = { clipLow: 0.8, clipHigh: 1.2 }
  const cases: ReadonlyArray<{ readonly loss: Loss.Loss<"PolicyTokens">; readonly expected: ReadonlyArray<number> }> = [
    { loss: Loss.importanceSampling, expected: [-2 * Math.exp(0.5), Math.exp(-1), 0] },
    { loss: Loss.ppo(clip), expected: [-2 * 1.2, 0.8, 0] },
    { loss: Loss.gspo(clip), expected: [-2 * Math.exp(-0.25), 0.8, 0] },
    { loss: Loss.cispo(clip), expected: [1.2 * 2, -0.8 * 2, 0] },
    { loss: Loss.dro({ beta: 0.5 }), expected: [2 + 0.25 * 0.25, -2 + 0.25, 0] }
  ]

  it.each(cases)("follows the formula of $loss.name, and is 0 where the mask is", ({ expected, loss }) => {
    assertClose(ElementwiseLoss.of(sampled, loss, logprobs), expected)
  })

  it("is the weighted negative log-probability, summed over the candidates of a position", () => {
    const weights = Float32Array.of(1, 0.5, 0)
    const one = Datum.weightedTokens(input, { targetTokens, weights })
    assertClose(ElementwiseLoss.of(one, Loss.crossEntropy, logprobs), [1, 1, 0])
    const two: Datum.Datum<"WeightedCandidates"> = {
      kind: "WeightedCandidates",
      modelInput: input,
      inputs: {
        candidates: 2,
        targetTokens: Int32Array.of(2, 5, 3, 6, 4, 7),
        weights: Float32Array.of(1, 1, 0.5, 0, 0, 2)
      }
    }
    const logprobsOf = Float32Array.of(-1, -2, -4, -8, -16, -32)
    assertClose(ElementwiseLoss.of(two, Loss.crossEntropyCandidates, logprobsOf), [3, 2, 64])
  })
})
