import { CrossedEffects } from "@effect-rl/core/evaluation"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as SimulatedScores from "./SimulatedScores.ts"

/** Coverage and mean width over simulated pairs of methods without a difference. */
const simulated = (
  options: Pick<SimulatedScores.Options, "rewards" | "seeds" | "deviations">,
  { pairs, seed }: { readonly pairs: number; readonly seed: number }
) => {
  const draws = SimulatedScores.draws(seed)
  const found = Array.from(
    { length: pairs },
    () => CrossedEffects.difference(...SimulatedScores.pair({ ...options, problems: 40, effect: 0 }, draws))
  )
  return {
    coverage: found.filter(({ high, low }) => low <= 0 && 0 <= high).length / pairs,
    width: found.reduce((sum, { high, low }) => sum + high - low, 0) / pairs
  }
}

describe("CrossedEffects.difference", () => {
  it("is Student's interval over problems if a side has one seed", () => {
    const found = CrossedEffects.difference([[0.5, 0, 1]], [[1, 1, 1]])
    assert.strictEqual(found.difference, 0.5)
    assert.isFalse(found.coversSeeds)
    assert.strictEqual(found.freedom, 2)
    // Student's t with 2 degrees of freedom (4.3027) times 0.5 / √3.
    assert.closeTo(found.high - found.difference, 1.2421, 1e-4)
  })

  it("is Welch's interval over the seed means if the difference is the same for every problem", () => {
    const found = CrossedEffects.difference([[0, 1], [0.2, 1.2], [0.4, 1.4]], [[1, 2], [1.2, 2.2], [1.4, 2.4]])
    // Each side's mean has the variance 0.04 / 3; with equal variances, Welch's degrees of freedom are at most 2 + 2.
    assert.closeTo(found.difference, 1, 1e-12)
    assert.closeTo(found.freedom, 4, 1e-9)
    assert.closeTo(found.high - found.difference, 2.7764 * Math.sqrt(0.08 / 3), 1e-4)
  })

  it("uses the degrees of freedom of the varying side if the other one does not vary", () => {
    const still = [[0, 1], [0, 1], [0, 1]]
    const { freedom, high, low } = CrossedEffects.difference(still, [[0, 1], [0.2, 1.2], [0.4, 1.4]])
    assert.closeTo(freedom, 2, 1e-9)
    assert.closeTo((high - low) / 2, 4.3027 * Math.sqrt(0.04 / 3), 1e-4)
  })

  it("is the problems' interval if the seed means are equal, and unbounded with one problem", () => {
    const { freedom, high, low } = CrossedEffects.difference([[0, 1, 0], [1, 0, 0]], [[1, 1, 0], [0, 1, 1]])
    assert.strictEqual(freedom, 2)
    assert.isAbove(high - low, 0)
    const alone = CrossedEffects.difference([[0], [1]], [[1], [1]])
    assert.deepInclude(alone, { low: -Infinity, high: Infinity })
  })

  const eighths = Schema.Literals([0, 1, 2, 3, 4, 5, 6, 7, 8])
  const seeds = Schema.NonEmptyArray(Schema.Tuple([eighths, eighths, eighths, eighths]))

  it.prop("changes its sign if the sides are exchanged", [seeds, seeds], ([left, right]) => {
    const [there, back] = [CrossedEffects.difference(left, right), CrossedEffects.difference(right, left)]
    assert.closeTo(there.difference, -back.difference, 1e-9)
    assert.closeTo(there.low, -back.high, 1e-6)
    assert.isAtMost(there.low, there.high)
  })

  it("contains the true difference in about 95 of 100 pairs with at least two seeds", () => {
    for (const rewards of ["binary", "graded"] as const) {
      for (const deviation of [0, 0.05]) {
        const deviations = [deviation, deviation] as const
        const [, three, five] = ([[2, 2], [3, 3], [5, 5]] as const).map((seeds, index) => {
          const found = simulated({ rewards, seeds, deviations }, { pairs: 500, seed: 100 + index })
          assert.isAtLeast(found.coverage, 0.925)
          assert.isAtMost(found.coverage, 0.98)
          return found
        })
        assert.isBelow(five?.width ?? NaN, three?.width ?? NaN)
      }
    }
  })

  it("has a narrower interval with three seeds per side than with one if seeds do not differ", () => {
    const deviations = [0, 0] as const
    const widthOf = (seeds: SimulatedScores.Options["seeds"]) =>
      simulated({ rewards: "binary", seeds, deviations }, { pairs: 300, seed: 7 }).width
    assert.isBelow(widthOf([3, 3]), widthOf([1, 1]))
  })
})
