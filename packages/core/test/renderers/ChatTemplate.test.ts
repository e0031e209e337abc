import { Message } from "@effect-rl/core"
import { Renderers } from "@effect-rl/core/renderers"
import { TestTokenizer } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const tokenizer = TestTokenizer.words([])

/** How often the roles of a conversation with one question and `answers` answers are read to render it. */
const rolesRead = Effect.fnUntraced(function*(answers: number) {
  let read = 0
  const counted = ({ content, role }: Message.Message): Message.Message => ({
    content,
    get role() {
      read++
      return role
    }
  })
  const renderer = yield* Renderers.byName("qwen3_instruct", tokenizer)
  const said = Array.from({ length: answers }, (_, index) => Message.assistant(`step ${index}`))
  yield* renderer.generationPrompt([Message.user("Go on."), ...said].map(counted))
  return read
})

describe("a prompt of a chat template", () => {
  it.effect("is rendered in time proportional to its messages, however long ago the user spoke", () =>
    Effect.gen(function*() {
      const [short, long] = [yield* rolesRead(100), yield* rolesRead(400)]
      assert.isAtMost(long, 4.1 * short)
    }))
})
