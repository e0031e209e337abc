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

  it.effect("reads the arguments of a call once, however often the growing conversation is rendered", () =>
    Effect.gen(function*() {
      const renderer = yield* Renderers.byName("qwen3_instruct", tokenizer)
      let read = 0
      const calling = (): Message.Message => ({
        ...Message.assistant("I add."),
        toolCalls: [{
          function: {
            name: "add",
            get arguments() {
              read++
              return "{\"a\": 1}"
            }
          }
        }]
      })
      const readsFor = Effect.fnUntraced(function*(turns: number) {
        read = 0
        const messages = [Message.user("Go on.")]
        for (let turn = 0; turn < turns; turn++) {
          messages.push(calling(), Message.user("Go on."))
          yield* renderer.generationPrompt(messages)
        }
        return read
      })
      assert.strictEqual(yield* readsFor(40), 2 * (yield* readsFor(20)))
    }))
})
