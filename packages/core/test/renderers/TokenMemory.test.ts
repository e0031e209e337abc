import * as TokenMemory from "@effect-rl/core/renderers/TokenMemory"
import { assert, describe, it } from "@effect/vitest"

const counting = () => {
  const encoded: Array<string> = []
  const encode = TokenMemory.make((text) => {
    encoded.push(text)
    return Int32Array.of(text.length)
  })
  return { encode, encoded }
}

describe("TokenMemory", () => {
  it("encodes a text only once", () => {
    const { encode, encoded } = counting()
    assert.deepStrictEqual(["a", "ab", "a", "ab"].map((text) => [...encode(text)]), [[1], [2], [1], [2]])
    assert.deepStrictEqual(encoded, ["a", "ab"])
  })

  it("forgets the least recently used text when it holds too many characters", () => {
    const { encode, encoded } = counting()
    const [first, second, third] = ["1", "2", "3"].map((digit) => digit.repeat(1_500_000))
    for (const text of [first, second, first, third, first, second]) encode(text ?? "")
    assert.deepStrictEqual(encoded.map(([digit]) => digit), ["1", "2", "3", "2"])
  })

  it("encodes a text that is longer than its capacity each time", () => {
    const { encode, encoded } = counting()
    const long = "x".repeat(4_000_001)
    assert.deepStrictEqual([...encode(long), ...encode(long)], [4_000_001, 4_000_001])
    assert.lengthOf(encoded, 2)
  })
})
