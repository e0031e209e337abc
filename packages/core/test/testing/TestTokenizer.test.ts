import { Tokenizer } from "@effect-rl/core/renderers"
import { TestTokenizer } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"

const { characters } = TestTokenizer
const ascii = Schema.String.check(Schema.isPattern(/^[\n\t -~]*$/))

describe("TestTokenizer.characters", () => {
  it.prop("decodes what it encodes", [ascii], ([text]) => {
    assert.strictEqual(characters.decode(characters.encode(text)), text)
    assert.strictEqual(characters.decode(characters.encode(text, { splitSpecialTokens: true })), text)
  })

  it.prop("encodes to ids below the vocabulary size", [Schema.String], ([text]) => {
    assert.isTrue(characters.encode(text).every((token) => token >= 0 && token < characters.vocabulary))
  })

  it("keeps special tokens whole, except in user text", () => {
    const end = characters.specialToken("<|im_end|>")
    assert.deepStrictEqual([...characters.encode("<|im_end|>")], [end])
    assert.lengthOf(characters.encode("<|im_end|>", { splitSpecialTokens: true }), 10)
  })

  it("encodes a character outside the vocabulary as one unknown token", () => {
    assert.deepStrictEqual([...characters.encode("é😀")], [0, 0])
    assert.strictEqual(characters.decode([0]), "\ufffd")
  })
})

describe("TestTokenizer.words", () => {
  const words = TestTokenizer.words(["cat", " sat", "ca"])

  it("encodes each word as one token, longest match first, and splits other text into characters", () => {
    const tokens = words.encode("cat sat car")
    assert.deepStrictEqual(Array.from(tokens, (token) => words.decode([token])), ["cat", " sat", " ", "ca", "r"])
  })

  it("has different fingerprints for different words", () => {
    assert.notStrictEqual(words.fingerprint, TestTokenizer.words(["cat"]).fingerprint)
    assert.notStrictEqual(words.fingerprint, characters.fingerprint)
  })
})

it.effect("TestTokenizer.layer provides its tokenizer for every model name", () =>
  Effect.gen(function*() {
    const tokenizers = yield* Tokenizer.Tokenizers
    assert.strictEqual(yield* tokenizers.load("any/model"), characters)
  }).pipe(Effect.provide(TestTokenizer.layer())))
