import { ConfidenceSequence, PassAtK, Proportion } from "@effect-rl/core/evaluation"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Random } from "effect"

const uniform = (count: number) => Effect.replicateEffect(Random.next, count)

describe("ConfidenceSequence", () => {
  it.effect("contains the mean at every number of observations, in at least 95 of 100 sequences", () =>
    Effect.gen(function*() {
      let missed = 0
      for (let trial = 0; trial < 400; trial++) {
        const values = (yield* uniform(200)).map((value) => value < 0.3 ? 1 : 0)
        const sequence = ConfidenceSequence.empiricalBernstein(values, { least: 0, most: 1 })
        if (sequence.some(({ high, low }) => low > 0.3 || high < 0.3)) missed++
      }
      assert.isAtMost(missed / 400, 0.05)
    }).pipe(Random.withSeed("sequences")))

  it.effect("narrows with more observations", () =>
    Effect.gen(function*() {
      const values = (yield* uniform(2000)).map((value) => value / 10 + 0.4)
      const sequence = ConfidenceSequence.empiricalBernstein(values, { least: 0, most: 1 })
      const widths = sequence.map(({ high, low }) => high - low)
      assert.isTrue(widths.every((width, at) => at === 0 || width <= (widths[at - 1] ?? 0)))
      assert.isBelow(widths.at(-1) ?? 1, 0.02)
    }).pipe(Random.withSeed("widths")))
})

describe("PassAtK", () => {
  it("is the probability that at least one of k attempts, drawn without replacement, succeeds", () => {
    assert.strictEqual(PassAtK.of(1, 4, 1), 0.25)
    assert.closeTo(PassAtK.of(1, 4, 2) ?? NaN, 0.5, 1e-12)
    assert.closeTo(PassAtK.of(2, 4, 2) ?? NaN, 1 - 1 / 6, 1e-12)
    assert.strictEqual(PassAtK.of(3, 4, 2), 1)
    assert.strictEqual(PassAtK.of(0, 4, 4), 0)
    assert.strictEqual(PassAtK.of(2, 3, 4), undefined)
  })

  it("leaves out problems with too few attempts, and is the share of successes for k = 1", () => {
    const attempts = [[true, false], [true, true], [false]]
    assert.strictEqual(PassAtK.estimate(attempts, 2).value, 1)
    assert.deepStrictEqual(PassAtK.estimate(attempts, 1), Proportion.clustered(attempts))
    assert.isNaN(PassAtK.estimate(attempts, 3).value)
  })
})
