import { Statistics } from "@effect-rl/core/evaluation"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

const value = Schema.Int.check(Schema.isBetween({ minimum: -1000, maximum: 1000 }))
const sample = Schema.Array(value).check(Schema.isMinLength(2))

describe("Statistics of a sample", () => {
  it("have known values for arrays and typed arrays", () => {
    for (const values of [[2, 4, 4, 4, 5, 5, 7, 9], Float32Array.of(2, 4, 4, 4, 5, 5, 7, 9)]) {
      assert.strictEqual(Statistics.sum(values), 40)
      assert.strictEqual(Statistics.mean(values), 5)
      assert.strictEqual(Statistics.squaredDeviations(values), 32)
      assert.strictEqual(Statistics.variance(values), 32 / 7)
    }
  })

  it("are undefined or NaN with too few values, except for the sum, which is 0", () => {
    assert.strictEqual(Statistics.sum([]), 0)
    assert.isNaN(Statistics.mean([]))
    assert.isNaN(Statistics.variance([3]))
    assert.isUndefined(Statistics.quantile([], 0.5))
    assert.isUndefined(Statistics.ratio(1, 0))
    assert.isUndefined(Statistics.clusteredStandardError([[0, 1, 1]]))
  })

  it("interpolate quantiles between the two closest ranks, for values in any order", () => {
    assert.deepStrictEqual([0, 0.25, 0.5, 1].map((q) => Statistics.quantile([3, 1, 2, 10], q)), [1, 1.75, 2.5, 10])
  })

  it.prop("have a standard error of √(variance / n) if every group is one value", [sample], ([values]) => {
    const standardError = Math.sqrt(Statistics.variance(values) / values.length)
    assert.approximately(Statistics.clusteredStandardError(values.map((one) => [one])) ?? NaN, standardError, 1e-9)
  })

  it.prop("do not treat members of a group as independent", [sample, value], ([values, copies]) => {
    const times = 1 + Math.abs(copies) % 5
    const groups = values.map((one) => Array.from({ length: times }, () => one))
    const single = Statistics.clusteredStandardError(values.map((one) => [one])) ?? NaN
    assert.approximately(Statistics.clusteredStandardError(groups) ?? NaN, single, 1e-9)
  })
})
