import { Story } from "@effect-rl/core/records"
import { TestTokenizer } from "@effect-rl/core/testing"
import { Languages } from "@effect-rl/view/server/Languages"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Recorded from "../Recorded.ts"

const saidOf = Effect.fnUntraced(function*(renderer: string, tokens: Int32Array) {
  const opened = { ...Recorded.opened(-1, { renderer }), at: 0, segment: 1, sequence: 0 }
  const languages = yield* Languages
  const { reading } = yield* languages.of(Story.fromRecords([opened]))
  return (yield* reading(tokens))?.parts ?? null
}, Effect.provide(Languages.layer))

const read = (renderer: string, text: string) =>
  Effect.provide(saidOf(renderer, TestTokenizer.characters.encode(text)), TestTokenizer.layer())

describe("a policy's response", () => {
  it.effect("is split into reasoning, text and tool calls", () =>
    Effect.gen(function*() {
      const call = "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 2}}\n</tool_call>"
      assert.deepStrictEqual(yield* read("qwen3", `<think>\n2 and 3\n</think>\n\nfive\n${call}<|im_end|>`), [
        { kind: "thinking", text: "2 and 3" },
        { kind: "text", text: "five" },
        { kind: "call", text: "add({\"a\": 2})" }
      ])
    }))

  it.effect("is parsed if it was truncated, or contains a malformed tool call", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* read("qwen3", "<think>\nlet me"), [{ kind: "thinking", text: "let me" }])
      const [part] = (yield* read("qwen3", "<tool_call>\n{oops\n</tool_call><|im_end|>")) ?? []
      assert.strictEqual(part?.kind, "unread_call")
      assert.include(part?.text, "{oops")
    }))

  it.effect("is null without the model's renderer or tokenizer", () =>
    Effect.gen(function*() {
      assert.isNull(yield* read("unheard-of", "five"))
      assert.isNull(yield* read("", "five"))
      assert.isNull(yield* saidOf("qwen3", Int32Array.of(1)))
    }))
})
