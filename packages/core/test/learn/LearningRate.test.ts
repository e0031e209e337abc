import { LearningRate } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"

const ratesOf = ({ at }: LearningRate.LearningRate, iterations: number) =>
  Array.from({ length: iterations }, (_, iteration) => at({ iteration, iterations }))

const assertRates = (rate: LearningRate.LearningRate, expected: ReadonlyArray<number>) =>
  ratesOf(rate, expected.length).forEach((found, iteration) =>
    assert.closeTo(found, expected[iteration] ?? NaN, 1e-15, `iteration ${iteration}`)
  )

describe("LearningRate", () => {
  it("is constant if it is a number", () => {
    assertRates(LearningRate.from(0.5), [0.5, 0.5, 0.5])
  })

  it("rises in equal steps during the warm-up, and reaches its peak in the next iteration", () => {
    assertRates(LearningRate.linear({ peak: 8, warmup: 3 }), [2, 4, 6, 8, 8 * 3 / 4, 8 * 2 / 4, 8 / 4])
    assertRates(LearningRate.cosine({ peak: 8, warmup: 3 }), [
      2,
      4,
      6,
      8,
      4 * (1 + Math.SQRT1_2),
      4,
      4 * (1 - Math.SQRT1_2)
    ])
  })

  it("falls from its peak at once without a warm-up", () => {
    assertRates(LearningRate.linear({ peak: 1 }), [1, 0.75, 0.5, 0.25])
    assertRates(LearningRate.cosine({ peak: 1 }), [1, 0.5])
  })

  it("stays at its peak if the warm-up takes all iterations", () => {
    assertRates(LearningRate.linear({ peak: 1, warmup: 1 }), [0.5])
    assert.strictEqual(LearningRate.linear({ peak: 1, warmup: 1 }).at({ iteration: 1, iterations: 1 }), 1)
  })
})
