import { type Cached, PrefixIndex } from "@effect-rl/engine/runtime/PrefixIndex"
import { assert, describe, it } from "@effect/vitest"
import { Array, Schema } from "effect"

const cached = (
  tokens: ReadonlyArray<number>,
  { computed = tokens.length, promptLength = tokens.length, weights = 0 }: Partial<Cached> = {}
): Cached => ({ weights, promptLength, computed, tokenAt: (position) => tokens[position] ?? NaN })

const text = Array.makeBy(40, (t) => t * t % 11)

const indexOf = (...all: ReadonlyArray<Cached>) => {
  const index = new PrefixIndex<Cached>()
  for (const one of all) index.update(one)
  return index
}

const longest = (index: PrefixIndex<Cached>, tokens: ReadonlyArray<number>, weights = 0) =>
  index.longest(weights, Int32Array.from(tokens), tokens.length)

describe("PrefixIndex", () => {
  const Texts = Schema.Array(
    Schema.Array(Schema.Literals([1, 2])).check(Schema.isMinLength(1), Schema.isMaxLength(70))
  )

  it.prop("finds a sequence that shares the most whole blocks", [
    Texts,
    Texts
  ], ([
    texts,
    asked
  ]) => {
    const index = indexOf(...texts.map((tokens) => cached(tokens)))
    for (const tokens of [...asked, ...texts]) {
      const found = longest(index, tokens)
      const length = found?.length ?? 0
      assert.deepStrictEqual(
        Array.makeBy(length, (t) => found?.cached.tokenAt(t)).slice(0, length),
        tokens.slice(0, length)
      )
      const shared = (other: ReadonlyArray<number>) => {
        const at = tokens.findIndex((token, t) => token !== other[t])
        return Math.min(at === -1 ? tokens.length : at, other.length)
      }
      const most = texts.reduce((best, other) => Math.max(best, shared(other)), 0)
      assert.isAtLeast(length, most - most % 16)
    }
  })

  it("finds the shared prefix beyond whole blocks, up to the computed length", () => {
    const index = indexOf(cached(text))
    assert.strictEqual(longest(index, [...text.slice(0, 29), 99])?.length, 29)
    assert.strictEqual(longest(indexOf(cached(text, { computed: 20 })), text)?.length, 20)
    assert.isUndefined(longest(index, text.slice(0, 9)))
  })

  it("finds the sequence that shares the longest prefix, in any indexing order", () => {
    const whole = cached(text)
    const begun = cached([...text.slice(0, 20), 99])
    for (const all of [[whole, begun], [begun, whole]]) {
      assert.deepStrictEqual(longest(indexOf(...all), text), { cached: whole, length: 40 })
    }
  })

  it("indexes a growing sequence, and reads no token before it is computed", () => {
    const index = new PrefixIndex<Cached>()
    const growing = {
      weights: 0,
      promptLength: 8,
      computed: 0,
      tokenAt: (position: number) => {
        assert.isBelow(position, growing.computed)
        return text[position] ?? NaN
      }
    }
    for (const computed of [3, 16, 31, 40]) {
      growing.computed = computed
      index.update(growing)
      assert.strictEqual(longest(index, text)?.length, computed < 16 ? undefined : computed)
    }
  })

  it("finds the whole of a short prompt", () => {
    assert.strictEqual(longest(indexOf(cached([1, 2, 3, 4], { promptLength: 4 })), [1, 2, 3])?.length, 3)
  })

  it("finds only sequences of the same weights, and forgets removed ones", () => {
    const one = cached(text)
    const index = indexOf(one, cached(text, { weights: 1 }))
    index.remove(one)
    assert.isUndefined(longest(index, text))
    assert.strictEqual(longest(index, text, 1)?.length, 40)
  })
})
