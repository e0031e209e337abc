import { HuggingFaceTokenizer } from "@effect-rl/files"
import { assert, describe, it, layer } from "@effect/vitest"
import { Tokenizer as Implementation } from "@huggingface/tokenizers"
import { Effect, Schema } from "effect"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as Files from "../support/Files.ts"

const fixtures = fileURLToPath(new URL("../fixtures/tokenizer", import.meta.url))
const definition: Record<string, unknown> = JSON.parse(readFileSync(`${fixtures}/tokenizer.json`, "utf8"))
const small = Effect.runSync(
  HuggingFaceTokenizer.fromJson("small", definition, { bos_token: null, eos_token: { content: "<|im_end|>" } })
)
/** Text without lone surrogates, which UTF-8 cannot represent. */
const Text = Schema.String.check(Schema.makeFilter((text) => !/\p{Surrogate}/u.test(text)))

layer(Files.layer)("HuggingFaceTokenizer", (it) => {
  it.prop("decodes an encoded text to the same text, except for its normalization", [Text], ([text]) => {
    assert.strictEqual(small.decode(small.encode(text, { splitSpecialTokens: true })), text.normalize("NFC"))
  })

  it.prop("decodes any ids as the underlying library does", [
    Schema.NonEmptyArray(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 451 })))
  ], ([ids]) => {
    const library = new Implementation(definition, {})
    assert.strictEqual(small.decode(ids), library.decode([...ids], { clean_up_tokenization_spaces: false }))
  }, { arbitrary: { runs: 50 } })

  it("decodes an empty list, unknown ids, and spaces before punctuation without changes", () => {
    assert.strictEqual(small.decode([]), "")
    assert.strictEqual(small.decode(Int32Array.of(-1, 100_000)), "")
    assert.strictEqual(small.decode(small.encode("a . b , c ?")), "a . b , c ?")
  })

  it("encodes special tokens in a text unless splitSpecialTokens is set", () => {
    assert.deepStrictEqual([...small.encode("<|im_end|>")], [451])
    assert.notInclude([...small.encode("<|im_end|>", { splitSpecialTokens: true })], 451)
    assert.strictEqual(small.specialToken("<|im_start|>"), 450)
    assert.isUndefined(small.specialToken("im_start"))
  })

  it("takes bos and eos from the configuration", () => {
    assert.isUndefined(small.bosToken)
    assert.strictEqual(small.eosTokenId, 451)
  })

  it("knows the bytes of each token, even for half a character", () => {
    const bytes = Array.from(small.encode("é"), (token) => Array.from(small.bytesOf?.(token) ?? []))
    assert.deepStrictEqual(bytes, [[0xc3], [0xa9]])
    assert.deepStrictEqual(small.bytesOf?.(451), new TextEncoder().encode("<|im_end|>"))
  })

  it.effect("knows the bytes of vocabularies with byte fallback, unless decoding strips spaces", () =>
    Effect.gen(function*() {
      const decoders = [
        { type: "Replace", pattern: { String: "▁" }, content: " " },
        { type: "ByteFallback" },
        { type: "Fuse" }
      ]
      const pieces = (...more: ReadonlyArray<object>) =>
        HuggingFaceTokenizer.fromJson("pieces", {
          ...definition,
          model: { type: "BPE", vocab: { "▁a": 0, "<0xC3>": 1, "<0xA9>": 2 }, merges: [] },
          added_tokens: [],
          decoder: { type: "Sequence", decoders: [...decoders, ...more] }
        })
      const { bytesOf } = yield* pieces()
      assert.deepStrictEqual([0, 1, 2, 9].map((token) => Array.from(bytesOf?.(token) ?? [])), [
        [0x20, 0x61],
        [0xc3],
        [0xa9],
        []
      ])
      assert.notProperty(yield* pieces({ type: "Strip", content: " ", start: 1, stop: 0 }), "bytesOf")
    }))
})

describe("a tokenizer's fingerprint", () => {
  const fingerprint = (tokenizer: unknown) =>
    Effect.map(HuggingFaceTokenizer.fromJson("other", tokenizer), (tokenizer) => tokenizer.fingerprint)
  const model = Schema.decodeUnknownSync(
    Schema.Struct({ vocab: Schema.Record(Schema.String, Schema.Int), merges: Schema.Array(Schema.Unknown) })
  )(definition["model"])
  const withModel = (fields: object) => ({ ...definition, model: { ...Object(definition["model"]), ...fields } })

  it.effect("does not depend on how the definition is written", () =>
    Effect.gen(function*() {
      const reversed = Object.fromEntries(Object.entries(model.vocab).toReversed())
      assert.strictEqual(yield* fingerprint(withModel({ vocab: reversed })), small.fingerprint)
      const merges = model.merges.map((merge) => Array.isArray(merge) ? merge.join(" ") : String(merge).split(" "))
      assert.strictEqual(yield* fingerprint(withModel({ merges })), small.fingerprint)
      assert.strictEqual(yield* fingerprint({ ...definition, post_processor: null, version: "2" }), small.fingerprint)
    }))

  it.effect("differs between tokenizers that encode differently", () =>
    Effect.gen(function*() {
      const others = yield* Effect.all([
        fingerprint(withModel({ merges: model.merges.slice(0, -1) })),
        fingerprint(withModel({ vocab: { ...model.vocab, "!": 1, "\"": 0 } })),
        fingerprint({ ...definition, normalizer: null }),
        fingerprint({ ...definition, added_tokens: [] })
      ])
      assert.strictEqual(new Set([small.fingerprint, ...others]).size, 5)
    }))
})

layer(Files.layer)("a tokenizer in a folder", (it) => {
  it.effect("is read from its two files", () =>
    Effect.gen(function*() {
      const loaded = yield* HuggingFaceTokenizer.fromFolder(fixtures)
      assert.strictEqual(loaded.fingerprint, small.fingerprint)
      assert.strictEqual(loaded.eosTokenId, 451)
    }))

  const broken = (content: string) =>
    Effect.gen(function*() {
      const folder = yield* Files.temporaryFolder
      yield* Files.writeFile(`${folder}/tokenizer.json`, content)
      const error = yield* Effect.flip(HuggingFaceTokenizer.fromFolder(folder))
      assert.strictEqual(error._tag, "TokenizerError")
      assert.include(error.message, `${folder}/tokenizer.json`)
      return error.message
    })

  it.effect("is refused if a file is truncated; the error names the file", () =>
    broken(JSON.stringify(definition).slice(0, 5000)))

  it.effect("is refused if a field is missing or wrong; the error names the file", () =>
    Effect.gen(function*() {
      assert.include(yield* broken(JSON.stringify({ ...definition, model: "BPE" })), "model")
      assert.include(yield* broken(JSON.stringify({ ...definition, added_tokens: [{ id: "1", content: "a" }] })), "id")
      assert.include(yield* broken(JSON.stringify({ ...definition, model: { type: "BPE", merges: [] } })), "vocab")
      assert.include(yield* broken(JSON.stringify({ ...definition, model: { type: "BPE", vocab: null } })), "vocab")
      yield* broken(JSON.stringify({ ...definition, model: { type: "BPE", vocab: { a: "b" }, merges: 3 } }))
      yield* broken(JSON.stringify({ ...definition, pre_tokenizer: { type: "Unheard" } }))
      yield* broken("[]")
    }))

  it.effect("is refused if its file is missing", () =>
    Effect.gen(function*() {
      const folder = yield* Files.temporaryFolder
      const error = yield* Effect.flip(HuggingFaceTokenizer.fromFolder(folder))
      assert.include(error.message, `${folder}/tokenizer.json does not exist`)
    }))
})
