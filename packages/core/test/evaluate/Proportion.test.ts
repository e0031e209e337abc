import { Proportion } from "@effect-rl/core/evaluation"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

const close = (found: number, expected: number) => assert.approximately(found, expected, 1e-4)

describe("Proportion.wilson", () => {
  it("equals the published interval", () => {
    const { high, low } = Proportion.wilson(8, 10)
    close(low, 0.4902)
    close(high, 0.9433)
  })

  it.prop("contains its value and stays within 0 and 1", [Schema.Natural, Schema.Natural], ([successes, failures]) => {
    const { high, low, value } = Proportion.wilson(successes, successes + failures + 1)
    assert.isTrue(0 <= low && low <= value && value <= high && high <= 1)
  })
})

describe("Proportion.clustered", () => {
  const times = (count: number, verdicts: ReadonlyArray<boolean>) => Array.from({ length: count }, () => verdicts)
  const width = (clusters: ReadonlyArray<ReadonlyArray<boolean>>) => {
    const { high, low } = Proportion.clustered(clusters)
    return high - low
  }

  it("is Wilson's interval for all trials if clusters do not differ", () => {
    assert.deepStrictEqual(Proportion.clustered(times(8, [true, false])), Proportion.wilson(8, 16))
  })

  it("is Wilson's interval for the effective number of trials if clusters differ", () => {
    const clusters = [...times(4, [true, true]), ...times(4, [false, false])]
    const { high, low, value } = Proportion.clustered(clusters)
    assert.strictEqual(value, 0.5)
    const effective = Proportion.wilson(3.5, 7)
    close(low, effective.low)
    close(high, effective.high)
    assert.isAbove(width(clusters), width(times(8, [true, false])))
  })

  it("uses the number of clusters as trials if all succeed or all fail", () => {
    assert.deepStrictEqual(Proportion.clustered(times(10, [true, true, true])), Proportion.wilson(10, 10))
    assert.deepStrictEqual(Proportion.clustered(times(10, [false, false])), Proportion.wilson(0, 10))
  })

  it("is the interval from 0 to 1 for a single cluster", () => {
    assert.deepStrictEqual(Proportion.clustered([[true, false]]), { value: 0.5, low: 0, high: 1 })
  })

  const Cluster = Schema.Array(Schema.Boolean).check(Schema.isMinLength(1))

  it.prop(
    "contains its value and stays within 0 and 1",
    [Schema.Array(Cluster).check(Schema.isMinLength(1))],
    ([clusters]) => {
      const { high, low, value } = Proportion.clustered(clusters)
      assert.isTrue(0 <= low && low <= value && value <= high && high <= 1)
    }
  )
})
