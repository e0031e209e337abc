import * as Sparkline from "@effect-rl/cli/terminal/Sparkline"
import { assert, describe, it } from "@effect/vitest"

describe("a sparkline", () => {
  it("goes from the least to the greatest value", () => {
    assert.strictEqual(Sparkline.of([0, 1, 2, 3, 4, 5, 6, 7]), "▁▂▃▄▅▆▇█")
  })

  it("is flat where all values are equal, and empty where there are none", () => {
    assert.strictEqual(Sparkline.of([0.5, 0.5]), "▁▁")
    assert.strictEqual(Sparkline.of([]), "")
  })

  it("leaves a gap for a value that is not a number", () => {
    assert.strictEqual(Sparkline.of([0, NaN, 1]), "▁ █")
  })
})
