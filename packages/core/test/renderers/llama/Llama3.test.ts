import { Message } from "@effect-rl/core"
import * as Llama3 from "@effect-rl/core/renderers/llama/Llama3"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as CharTokenizer from "../CharTokenizer.ts"
import * as Rendered from "../Rendered.ts"
import * as VocabularyTokenizer from "../VocabularyTokenizer.ts"

const conversation = [Message.system("Be terse."), Message.user("What is 2+2?"), Message.assistant("4")]

describe("llama3", () => {
  it.effect("frames each message with a header and an end of turn", () =>
    Effect.gen(function*() {
      const renderer = yield* Llama3.llama3(CharTokenizer.llama)
      assert.strictEqual(
        yield* Rendered.supervised(renderer, CharTokenizer.llama, conversation),
        "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe terse.<|eot_id|>"
          + "<|start_header_id|>user<|end_header_id|>\n\nWhat is 2+2?<|eot_id|>"
          + "<|start_header_id|>assistant<|end_header_id|>\n\n⟦4<|eot_id|>⟧"
      )
    }))

  it.effect("parses <|end_of_text|> as text, because it is not the stop", () =>
    Effect.gen(function*() {
      const renderer = yield* Llama3.llama3(CharTokenizer.llama)
      const parsed = yield* renderer.parse(CharTokenizer.llama.encode("4<|end_of_text|>"))
      assert.deepStrictEqual(parsed, { message: Message.assistant("4<|end_of_text|>"), termination: "malformed" })
    }))

  it.effect("does not support tools", () =>
    Effect.gen(function*() {
      const renderer = yield* Llama3.llama3(CharTokenizer.llama)
      assert.isUndefined(renderer.toolsPrefix)
    }))

  it.effect("refuses a tokenizer without its special tokens", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Llama3.llama3(CharTokenizer.qwen))
      assert.include(error.message, "renderer \"llama3\": the tokenizer has no special token <|begin_of_text|>")
    }))
})

describe("llama3 with the model's vocabulary", () => {
  it.effect("encodes to the ids on which the model was tuned", () =>
    Effect.gen(function*() {
      const renderer = yield* Llama3.llama3(VocabularyTokenizer.of("llama3"))
      const prompt = yield* renderer.generationPrompt(conversation.slice(0, 2))
      const ids = prompt.chunks.flatMap((chunk) => chunk._tag === "EncodedText" ? [...chunk.tokens] : [])
      const expected = [128000, 128006, 9125, 128007, 271, 3513, 51637, 13, 128009, 128006, 882, 128007, 271, 3923]
      assert.deepStrictEqual(ids, [...expected, 374, 220, 17, 10, 17, 30, 128009, 128006, 78191, 128007, 271])
      assert.deepStrictEqual(renderer.stop, [128009])
    }))
})
