import * as Stops from "@effect-rl/engine/runtime/Stops"
import { assert, describe, it } from "@effect/vitest"

const vocabulary = ["a", "b", "ab", "</", "answer>", ...Array.from(Stops.utf8("é")), "x</answer>y"]

/** The number of tokens sampled until one ends the sample. */
const length = (stops: Partial<Stops.Stops>, tokens: ReadonlyArray<number>) => {
  const isStop = Stops.matcher({ ...Stops.none, ...stops }, (token) => vocabulary[token] ?? "")
  return tokens.findIndex(isStop) + 1
}

describe("Stops", () => {
  it("stops at a token id", () => {
    assert.strictEqual(length({ tokens: [1] }, [0, 0, 1, 0]), 3)
  })

  it("stops at a string inside one token", () => {
    assert.strictEqual(length({ strings: ["ab"] }, [0, 2, 0]), 2)
    assert.strictEqual(length({ strings: ["</answer>"] }, [0, 7, 0]), 2)
  })

  it("stops at a string that spans several tokens", () => {
    assert.strictEqual(length({ strings: ["aab"] }, [1, 0, 0, 1]), 4)
    assert.strictEqual(length({ strings: ["</answer>"] }, [3, 4]), 2)
  })

  it("stops at a character whose bytes are in different tokens", () => {
    assert.strictEqual(length({ strings: [Stops.utf8("é")] }, [5, 6]), 2)
  })

  it("accepts half a million stop strings", () => {
    const strings = Array.from({ length: 500_000 }, (_, index) => `stop ${index}`)
    assert.strictEqual(length({ strings, tokens: [3] }, [0, 3]), 2)
  })

  it("does not stop at part of a string", () => {
    assert.strictEqual(length({ strings: ["</answer>"] }, [3, 3, 0]), 0)
  })

  it("stops at the first match of several stops", () => {
    assert.strictEqual(length({ strings: ["ab", "b"], tokens: [3] }, [0, 0, 1, 3]), 3)
  })
})
