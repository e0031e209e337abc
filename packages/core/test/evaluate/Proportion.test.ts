import { Proportion } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

const close = (found: number, expected: number) => assert.approximately(found, expected, 1e-4)

describe("wilson", () => {
  it("is the published interval", () => {
    const { high, low } = Proportion.wilson(8, 10)
    close(low, 0.4902)
    close(high, 0.9433)
  })

  it.prop("holds its value and stays within 0 and 1", [Schema.Natural, Schema.Natural], ([successes, failures]) => {
    const { high, low, value } = Proportion.wilson(successes, successes + failures + 1)
    assert.isTrue(0 <= low && low <= value && value <= high && high <= 1)
  })
})

describe("clustered", () => {
  it("is wider the more clusters differ", () => {
    const width = (shares: ReadonlyArray<number>) => {
      const { high, low } = Proportion.clustered(shares)
      return high - low
    }
    assert.strictEqual(width([0.5, 0.5, 0.5, 0.5]), 0)
    assert.isAbove(width([0, 1, 0, 1]), width([0.4, 0.6, 0.4, 0.6]))
  })
})
