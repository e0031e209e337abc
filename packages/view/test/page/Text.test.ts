import * as Text from "@effect-rl/view/page/Text"
import { assert, describe, it } from "@effect/vitest"

describe("Text.duration", () => {
  it.each([
    [40, "40 ms"],
    [2_340, "2.3 s"],
    [9_980, "10 s"],
    [59_700, "1 min 0 s"],
    [119_600, "2 min 0 s"],
    [3_599_700, "1 h 0 min"]
  ])(
    "writes %d milliseconds as %s, rounded before it is divided into units",
    (milliseconds, text) => assert.strictEqual(Text.duration(milliseconds), text)
  )
})
