import { Message } from "@effect-rl/core"
import * as RoleColon from "@effect-rl/core/renderers/RoleColon"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as CharTokenizer from "./CharTokenizer.ts"
import * as Rendered from "./Rendered.ts"

const question = [Message.system("Be terse."), Message.user("What is 2+2?")]

describe("role_colon", () => {
  it.effect("writes roles as words, and leaves the space before the answer to the model", () =>
    Effect.gen(function*() {
      const renderer = yield* RoleColon.roleColon(CharTokenizer.qwen)
      assert.deepStrictEqual(renderer.stop, ["\n\nUser:"])
      assert.strictEqual(
        yield* Rendered.prompt(renderer, CharTokenizer.qwen, question),
        "System: Be terse.\n\nUser: What is 2+2?\n\nAssistant:"
      )
      assert.strictEqual(
        yield* Rendered.supervised(renderer, CharTokenizer.qwen, [...question, Message.assistant("4")]),
        "System: Be terse.\n\nUser: What is 2+2?\n\nAssistant:⟦ 4\n\nUser:⟧"
      )
    }))

  it.effect("has no control tokens, so a message that spells a header is parsed as a turn, as upstream", () =>
    Effect.gen(function*() {
      const renderer = yield* RoleColon.roleColon(CharTokenizer.qwen)
      assert.strictEqual(
        yield* Rendered.prompt(renderer, CharTokenizer.qwen, [Message.user("hi\n\nAssistant: 4\n\nUser: bye")]),
        yield* Rendered.prompt(renderer, CharTokenizer.qwen, [
          Message.user("hi"),
          Message.assistant("4"),
          Message.user("bye")
        ])
      )
    }))

  it.effect("begins with the tokenizer's beginning-of-sequence token", () =>
    Effect.gen(function*() {
      const renderer = yield* RoleColon.roleColon(CharTokenizer.llama)
      assert.strictEqual(
        yield* Rendered.prompt(renderer, CharTokenizer.llama, [Message.user("hi")]),
        "<|begin_of_text|>User: hi\n\nAssistant:"
      )
    }))

  it.effect.each([["toolDeclare", "Tooldeclare:"], ["ßeta", "Sseta:"], ["", ":"]] as const)(
    "capitalizes the role %j as Python does",
    ([role, header]) =>
      Effect.gen(function*() {
        const renderer = yield* RoleColon.roleColon(CharTokenizer.qwen)
        assert.strictEqual(yield* Rendered.prompt(renderer, CharTokenizer.qwen, [], { role }), header)
      })
  )

  it.effect("trains the next speaker's name only after the last turn", () =>
    Effect.gen(function*() {
      const renderer = yield* RoleColon.roleColon(CharTokenizer.qwen)
      const messages = [Message.user("a"), Message.assistant("b"), Message.user("c"), Message.assistant("d")]
      assert.strictEqual(
        yield* Rendered.supervised(renderer, CharTokenizer.qwen, messages, "all_assistant_messages"),
        "User: a\n\nAssistant:⟦ b\n\n⟧User: c\n\nAssistant:⟦ d\n\nUser:⟧"
      )
    }))

  it.effect("ends an example with two line breaks if its last message is a user's", () =>
    Effect.gen(function*() {
      const renderer = yield* RoleColon.roleColon(CharTokenizer.qwen)
      assert.strictEqual(
        yield* Rendered.supervised(renderer, CharTokenizer.qwen, [Message.user("q")], "all_messages"),
        "User:⟦ q\n\n⟧"
      )
    }))

  it.effect("refuses thinking and several text parts", () =>
    Effect.gen(function*() {
      const renderer = yield* RoleColon.roleColon(CharTokenizer.qwen)
      const thinks: Message.Message = { role: "assistant", content: [{ type: "thinking", thinking: "hm" }] }
      const error = yield* Effect.flip(renderer.generationPrompt([thinks]))
      assert.strictEqual(
        error.message,
        "renderer \"role_colon\": a message of role \"assistant\" has thinking, expected one text"
      )
    }))

  it.effect.each(
    [
      [" 4\n\nUser:", "stop_sequence", "4"],
      [" 4<|im_end|>", "eos", "4"],
      [" 4", "malformed", "4"],
      [" 4\n\nUser:<|im_end|>", "malformed", "4"],
      [" 4\n\nUser: x\n\nUser:", "malformed", "4"],
      ["4\n\n\n\nUser:", "stop_sequence", "4"],
      [" 4\n\nUser: more", "stop_sequence", "4"]
    ] as const
  )("parses %j as %s", ([response, termination, content]) =>
    Effect.gen(function*() {
      const renderer = yield* RoleColon.roleColon(CharTokenizer.qwen)
      const parsed = yield* renderer.parse(CharTokenizer.qwen.encode(response))
      assert.deepStrictEqual(parsed, { message: Message.assistant(content), termination })
    }))
})
