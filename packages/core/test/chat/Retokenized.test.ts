/** Laws of alignment by bytes, over random divisions of the same text, and responses in the tokens of other models. */
import { Renderers, Retokenized } from "@effect-rl/core/renderers"
import { TestTokenizer } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"

const Lengths = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 }))).check(
  Schema.isMaxLength(30)
)

/** The position after each token. */
const endsOf = (lengths: ReadonlyArray<number>) => {
  let end = 0
  return lengths.map((length) => end += length)
}

/** The ends of tokens with the given lengths before `total`, and of a last token, which ends at `total`. */
const upTo = (lengths: ReadonlyArray<number>, total: number) => {
  const ends = endsOf(lengths).filter((end) => end < total)
  return [...ends, total]
}

const sum = (values: ReadonlyArray<number>) => values.reduce((total, value) => total + value, 0)

/** The sums of the values of each span's tokens. */
const bySpan = (boundaries: Int32Array, values: ReadonlyArray<number>) =>
  Array.from(boundaries.subarray(1), (end, span) => sum(values.slice(boundaries[span], end)))

describe("Retokenized.align", () => {
  it.prop("has one span per token for equal tokenizations", [Lengths], ([lengths]) => {
    const { other, own } = Retokenized.align(endsOf(lengths), endsOf(lengths))
    assert.deepStrictEqual([...own], Array.from({ length: lengths.length + 1 }, (_, index) => index))
    assert.deepStrictEqual(other, own)
  })

  it.prop(
    "covers all tokens of both tokenizations, so the sum over a text stays the same",
    [Lengths, Lengths],
    ([some, others]) => {
      const total = sum(some) + 1
      const [ownEnds, otherEnds] = [upTo(some, total), upTo(others, total)]
      const { other, own } = Retokenized.align(ownEnds, otherEnds)
      const values = otherEnds.map((end, index) => end * 0.37 - index)
      assert.closeTo(sum(bySpan(other, values)), sum(values), 1e-9)
      assert.deepStrictEqual([own[0], own.at(-1), other[0], other.at(-1)], [0, ownEnds.length, 0, otherEnds.length])
    }
  )

  it.prop("has a span for every common boundary, and the same bytes on both sides", [Lengths, Lengths], (drawn) => {
    const [ownEnds, otherEnds] = drawn.map((lengths) => endsOf(lengths.map((length) => length + 1)))
    const { other, own } = Retokenized.align(ownEnds ?? [], otherEnds ?? [])
    const common = ownEnds?.filter((end) => otherEnds?.includes(end))
    assert.deepStrictEqual(Array.from(own.subarray(1), (token) => ownEnds?.[token - 1]), common)
    assert.deepStrictEqual(Array.from(other.subarray(1), (token) => otherEnds?.[token - 1]), common)
  })

  it("adds a token without bytes to the span before it", () => {
    const { other, own } = Retokenized.align([2, 2, 5], [2, 5, 5])
    assert.deepStrictEqual([[...own], [...other]], [[0, 2, 3], [0, 1, 3]])
  })
})

const language = (tokenizer: TestTokenizer.TestTokenizer, renderer = "qwen3_instruct") =>
  Effect.map(
    Renderers.byName(renderer, tokenizer),
    (renderer) => ({ renderer, tokenizer: Retokenized.hasBytes(tokenizer) ? tokenizer : assert.fail("no bytes") })
  )

const words = TestTokenizer.words(["hel", "lo", " wor", "ld", "é", "👍"])
const letters = TestTokenizer.make({
  name: "letters",
  specialTokens: TestTokenizer.specialTokens.filter((text) => !text.includes("think")),
  pieces: [...TestTokenizer.characterPieces, "lo w", "é"]
})

const written = (text: string, stopReason: "stop" | "length" = "stop") => ({ tokens: words.encode(text), stopReason })

describe("Retokenized.response", () => {
  it.effect("keeps the tokens if both tokenizers are the same, even tokens that encoding the text would not give", () =>
    Effect.gen(function*() {
      const student = yield* language(words)
      const tokens = Int32Array.from("hello", (letter) => words.encode(letter)[0] ?? 0)
      const response = Retokenized.response({ tokens, stopReason: "length" }, student, student)
      assert.deepStrictEqual(response.tokens, tokens)
      assert.deepStrictEqual([...response.spans.other], [0, 1, 2, 3, 4, 5])
    }))

  it.effect("encodes the text again, and divides it where both tokenizations have a boundary", () =>
    Effect.gen(function*() {
      const { isWhole, spans, tokens } = Retokenized.response(
        written("hello world", "length"),
        yield* language(words),
        yield* language(letters)
      )
      assert.isTrue(isWhole)
      assert.strictEqual(letters.decode(tokens), "hello world")
      // Own tokens: "hel" + "lo" + " wor" + "ld". Other tokens: "h" + "e" + "l" + "lo w" + "o" + "r" + "l" + "d".
      assert.deepStrictEqual([...spans.own], [0, 1, 3, 4])
      assert.deepStrictEqual([...spans.other], [0, 3, 6, 8])
    }))

  it.effect("ends with the other model's stop", () =>
    Effect.gen(function*() {
      const student = yield* language(words)
      const [llama, plain] = [yield* language(letters, "llama3"), yield* language(letters, "role_colon")]
      const inWords = written("hello<|im_end|>")
      const ended = Retokenized.response(inWords, student, llama)
      assert.strictEqual(letters.decode(ended.tokens), "hello<|eot_id|>")
      assert.deepStrictEqual([...ended.spans.own], [0, 1, 2, 3])
      const asText = Retokenized.response(inWords, student, plain)
      assert.strictEqual(letters.decode(asText.tokens), "hello\n\nUser:")
      assert.deepStrictEqual([...asText.spans.own], [0, 1, 2, 3])
      assert.deepStrictEqual([...asText.spans.other], [0, 3, 5, 12])
    }))

  it.effect("ends with the other model's stop after a stop that is text", () =>
    Effect.gen(function*() {
      const student = yield* language(words, "role_colon")
      const response = Retokenized.response(written("hello\n\nUser:"), student, yield* language(letters))
      assert.strictEqual(letters.decode(response.tokens), "hello<|im_end|>")
      assert.deepStrictEqual([...response.spans.own], [0, 1, 2, 9])
      assert.isTrue(response.isWhole)
    }))

  it.effect("encodes special tokens that the other model lacks as text, and never turns text into special tokens", () =>
    Effect.gen(function*() {
      const [student, teacher] = [yield* language(words), yield* language(letters)]
      const { isWhole, tokens } = Retokenized.response(written("<think>hel</think>lo<|im_end|>"), student, teacher)
      assert.isTrue(isWhole)
      assert.strictEqual(letters.decode(tokens), "<think>hel</think>lo<|im_end|>")
      const spelled = Int32Array.from("<|im_end|>", (letter) => words.encode(letter)[0] ?? 0)
      const copied = Retokenized.response({ tokens: spelled, stopReason: "length" }, student, teacher)
      assert.lengthOf(copied.tokens, "<|im_end|>".length)
    }))

  it.effect("drops everything from the first byte that the other tokenizer cannot encode", () =>
    Effect.gen(function*() {
      const { isWhole, spans, tokens } = Retokenized.response(
        written("hel👍lo<|im_end|>"),
        yield* language(words),
        yield* language(letters)
      )
      assert.isFalse(isWhole)
      assert.strictEqual(letters.decode(tokens), "hel")
      assert.deepStrictEqual([...spans.own], [0, 1])
    }))
})
