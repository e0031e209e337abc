import { Message, Preferences, type SupervisedDataset } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Task from "../rl/Task.ts"

const first = Effect.fnUntraced(function*(row: Preferences.Preference) {
  const model = yield* Task.model
  return yield* Preferences.pairs([row], { model, batchSize: 1 }).batch(0, 0)
}, Effect.provide(Task.layer()))

const refusal = (row: Preferences.Preference) => Effect.map(Effect.flip(first(row)), ({ message }) => message)

const question = Message.user("2 + 2")
const conversation = (answer: string): SupervisedDataset.Conversation => [question, Message.assistant(answer)]

describe("Preferences.pairs", () => {
  it.effect("accepts a separate prompt, as messages or as a string", () =>
    Effect.gen(function*() {
      const expected = yield* first({ chosen: conversation("4"), rejected: conversation("5") })
      const apart = { chosen: [Message.assistant("4")], rejected: [Message.assistant("5")] }
      assert.deepStrictEqual(yield* first({ prompt: [question], ...apart }), expected)
      assert.deepStrictEqual(yield* first({ prompt: "2 + 2", chosen: "4", rejected: "5" }), expected)
    }))

  it.effect("refuses preferences without a prompt", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* refusal({ chosen: "4", rejected: "5" }),
        "preference 0 has no message before the chosen answer, expected the prompt in both conversations, or as `prompt`"
      )
      assert.include(
        yield* refusal({ chosen: conversation("4"), rejected: "5" }),
        "no message before the rejected answer"
      )
      assert.include(yield* refusal({ prompt: [], chosen: "4", rejected: "5" }), "no message before the chosen answer")
    }))

  it.effect("refuses preferences with different prompts", () =>
    Effect.gen(function*() {
      const other = [Message.user("3 + 3"), Message.assistant("6")]
      assert.strictEqual(
        yield* refusal({ chosen: conversation("4"), rejected: other }),
        "preference 0 has different messages before its two answers, expected the same prompt for both"
      )
    }))
})
