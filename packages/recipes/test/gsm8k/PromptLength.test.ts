import { Message } from "@effect-rl/core"
import { MathEnv, PromptLength } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as TestModel from "../TestModel.ts"

const answer = "1"

/** The token count of a prompt with an empty problem: one per character of the template and of the fixed instructions. */
const frame = Effect.flatMap(
  TestModel.model,
  ({ renderer }) =>
    Effect.map(renderer.generationPrompt([Message.user(MathEnv.questionSuffix)]), ({ length }) => length)
)

const check = (maxTokens: number, ...questions: ReadonlyArray<string>) =>
  Effect.flatMap(
    TestModel.model,
    (model) => PromptLength.check(questions.map((question) => ({ question, answer })), { model, maxTokens, prefix: [] })
  )

describe("PromptLength.check", () => {
  for (const letter of ["a", "é", "字", "😀"]) {
    it.effect(`allows a prompt and an answer that fill the context, and no token more, in ${letter}`, () =>
      Effect.gen(function*() {
        const { capabilities, tokenizer } = yield* TestModel.model
        const room = capabilities.contextLength - (yield* frame) - 100
        const question = letter.repeat(Math.floor(room / tokenizer.encode(letter).length))
        const left = room - tokenizer.encode(question).length
        yield* check(100 + left, "short", question)
        const error = yield* Effect.flip(check(101 + left, "short", question))
        assert.strictEqual(error._tag, "PromptTooLong")
        assert.include(
          error.message,
          `a problem's prompt has ${capabilities.contextLength - 100 - left} tokens and its answer up to ${
            101 + left
          }, ` +
            "expected at most 4096 together"
        )
        assert.include(error.message, `It asks: ${letter}`)
      }))
  }
})
