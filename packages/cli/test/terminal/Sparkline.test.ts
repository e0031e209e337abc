import * as Sparkline from "@effect-rl/cli/terminal/Sparkline"
import { assert, describe, it } from "@effect/vitest"

describe("a sparkline", () => {
  it("is scaled from the smallest to the largest value", () => {
    assert.strictEqual(Sparkline.of([0, 1, 2, 3, 4, 5, 6, 7]), "▁▂▃▄▅▆▇█")
  })

  it("is flat if all values are equal, and empty if there are none", () => {
    assert.strictEqual(Sparkline.of([0.5, 0.5]), "▁▁")
    assert.strictEqual(Sparkline.of([]), "")
  })

  it("leaves a gap for NaN", () => {
    assert.strictEqual(Sparkline.of([0, NaN, 1]), "▁ █")
  })
})
