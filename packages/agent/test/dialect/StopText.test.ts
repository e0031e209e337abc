import * as StopText from "@effect-rl/agent/dialect/StopText"
import { TestTokenizer } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"

const tokenizer = TestTokenizer.make({
  name: "emoji",
  specialTokens: [],
  pieces: ["😀", ...TestTokenizer.characterPieces]
})

const find = (text: string, ...stops: ReadonlyArray<string>) => {
  const { held, passed, stop } = StopText.find(tokenizer, stops, tokenizer.encode(text))
  return { held: tokenizer.decode(held), passed: tokenizer.decode(passed), stop }
}

describe("a client's stop text", () => {
  it("ends the text before it, at the first of several", () => {
    assert.deepStrictEqual(find("one two three", "three", "two"), { passed: "one ", held: "", stop: "two" })
  })

  it("holds back text that may be the beginning of a stop text", () => {
    assert.deepStrictEqual(find("one t", "two"), { passed: "", held: "one t", stop: undefined })
    assert.deepStrictEqual(find("one x", "two"), { passed: "one x", held: "", stop: undefined })
  })

  it("may begin after characters of two UTF-16 code units, and is then held back", () => {
    assert.deepStrictEqual(find("😀😀 t", "two"), { passed: "", held: "😀😀 t", stop: undefined })
  })
})
