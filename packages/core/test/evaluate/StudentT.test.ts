import { StudentT } from "@effect-rl/core/evaluation"
import { assert, describe, it } from "@effect/vitest"

describe("StudentT.quantile", () => {
  it("equals the published 97.5 % quantile", () => {
    const published = [[1, 12.7062], [2, 4.30265], [3, 3.18245], [4, 2.77645], [5, 2.57058], [10, 2.22814], [
      30,
      2.04227
    ], [199, 1.97196]]
    for (const [freedom = NaN, quantile = NaN] of published) {
      assert.closeTo(StudentT.quantile(freedom) / quantile, 1, 2e-5)
    }
    assert.closeTo(StudentT.quantile(Infinity), 1.959964, 1e-5)
  })

  it("decreases with more degrees of freedom, also between integers", () => {
    const quantiles = Array.from({ length: 200 }, (_, index) => StudentT.quantile(1 + index / 10))
    for (const [index, quantile] of quantiles.slice(1).entries()) assert.isBelow(quantile, quantiles[index] ?? NaN)
  })
})
