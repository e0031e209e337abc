import * as GgufTokenizer from "@effect-rl/engine/checkpoint/GgufTokenizer"
import type * as GgufHeader from "@effect-rl/engine/numerics/GgufHeader"
import { HuggingFaceTokenizer } from "@effect-rl/files"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as GgufPreset from "./GgufPreset.ts"

const metadata = (changes: Readonly<Record<string, GgufHeader.Value>> = {}): GgufHeader.Metadata =>
  new Map(Object.entries({ ...GgufPreset.tokenizerMetadata, ...changes }))

const texts = [
  "What is 12 + 34? Write your answer in \\boxed{} format.",
  "It's naïve,  isn't it?\n\n  CAFÉ 😀\r\n\tend ",
  "<|im_start|>user\nhello<|im_end|>\n",
  ""
]

describe("GgufTokenizer", () => {
  it.effect("encodes text like the tokenizer from which the file was made", () =>
    Effect.gen(function*() {
      const original = yield* HuggingFaceTokenizer.fromFolder(GgufPreset.folder)
      const tokenizer = yield* GgufTokenizer.fromMetadata("model.gguf", metadata())
      for (const text of texts) {
        for (const splitSpecialTokens of [false, true]) {
          const tokens = tokenizer.encode(text, { splitSpecialTokens })
          assert.deepStrictEqual(tokens, original.encode(text, { splitSpecialTokens }))
          assert.strictEqual(tokenizer.decode(tokens), original.decode(tokens))
        }
      }
      assert.strictEqual(tokenizer.eosTokenId, original.eosTokenId)
      assert.strictEqual(tokenizer.specialToken("<|im_start|>"), 510)
      assert.strictEqual(tokenizer.bosToken, undefined)
      assert.deepStrictEqual(tokenizer.tokenBytes, original.tokenBytes)
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("keeps the chat template, and the start token if the file requests one", () =>
    Effect.gen(function*() {
      const tokenizer = yield* GgufTokenizer.fromMetadata(
        "model.gguf",
        metadata({
          "tokenizer.chat_template": "{{ messages }}",
          "tokenizer.ggml.bos_token_id": 510,
          "tokenizer.ggml.add_bos_token": true
        })
      )
      assert.strictEqual(tokenizer.chatTemplate?.source, "{{ messages }}")
      assert.strictEqual(tokenizer.bosToken, "<|im_start|>")
    }))

  it.effect("splits digits for SmolLM2 and Qwen2, and groups them for Llama 3 and GPT-2", () =>
    Effect.gen(function*() {
      const tokens = ["1", "2", "3", "12", "123", "Ġ", "<|end|>"]
      const digits = {
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [1, 1, 1, 1, 1, 1, 3],
        "tokenizer.ggml.merges": ["1 2", "12 3"]
      }
      const read = (pre: string) =>
        Effect.map(
          GgufTokenizer.fromMetadata("model.gguf", metadata({ ...digits, "tokenizer.ggml.pre": pre })),
          ({ encode }) => Array.from(encode("123"), (id) => tokens[id])
        )
      assert.deepStrictEqual(yield* read("smollm"), ["1", "2", "3"])
      assert.deepStrictEqual(yield* read("qwen2"), ["1", "2", "3"])
      assert.deepStrictEqual(yield* read("llama-bpe"), ["123"])
      assert.deepStrictEqual(yield* read("gpt-2"), ["123"])
    }))

  const refused: ReadonlyArray<readonly [changes: Readonly<Record<string, GgufHeader.Value>>, message: string]> = [
    [{ "tokenizer.ggml.model": "llama" }, "tokenizer.ggml.model is \"llama\", expected \"gpt2\""],
    [{ "tokenizer.ggml.pre": "tekken" }, "tokenizer.ggml.pre is \"tekken\", expected one of \"gpt-2\", \"smollm\""],
    [{ "tokenizer.ggml.merges": 3 }, "tokenizer.ggml.merges is missing, expected a list of pairs"],
    [{ "tokenizer.ggml.token_type": [1] }, "tokenizer.ggml.token_type has 1 entries, expected 512"]
  ]
  for (const [changes, message] of refused) {
    it.effect(`refuses ${JSON.stringify(changes)}`, () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(GgufTokenizer.fromMetadata("model.gguf", metadata(changes)))
        assert.include(error.message, `tokenizer "model.gguf": ${message}`)
      }))
  }
})
