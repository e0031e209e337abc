/** Finds problems that leave the model no room to answer, before a run begins. */
import type { ChatModel } from "@effect-rl/core"
import { Message } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as MathEnv from "../math/MathEnv.ts"
import type { Problem } from "./Gsm8kRow.ts"

/** A problem's prompt and the longest answer together exceed the model's context. */
export class PromptTooLong extends Schema.TaggedError<PromptTooLong>()("PromptTooLong", {
  question: Schema.String,
  promptTokens: Schema.Int,
  maxTokens: Schema.Int,
  contextLength: Schema.Int
}) {
  override get message() {
    return `a problem's prompt has ${this.promptTokens} tokens and its answer up to ${this.maxTokens}, ` +
      `expected at most ${this.contextLength} together, the model's context: ` +
      `shorten or remove the problem, or lower maxTokens. It asks: ${this.question.slice(0, 200)}`
  }
}

export interface Options {
  readonly model: Pick<ChatModel.ChatModel, "capabilities" | "renderer">
  readonly maxTokens: number
  /** Messages before each problem. */
  readonly prefix: ReadonlyArray<Message.Message>
}

/**
 * An upper bound of the number of tokens: each token has at least one UTF-8 byte, and the text has at most this many
 * bytes.
 */
const mostTokens = (text: string) => text.length + 2 * (text.match(/[\u0080-\uffff]/g) ?? []).length

/**
 * Fails with the first problem that is too long. Problems that are clearly short enough are not tokenized.
 *
 * @example
 * PromptLength.check([{ question: "What is 2 + 2?", answer: "4" }], { model, maxTokens: 512, prefix: [] })
 */
export const check = Effect.fnUntraced(
  function*(problems: ReadonlyArray<Problem>, { maxTokens, model: { capabilities, renderer }, prefix }: Options) {
    const { contextLength } = capabilities
    const promptTokens = (question: string) =>
      Effect.map(
        renderer.generationPrompt([...prefix, Message.user(MathEnv.question(question))]),
        ({ length }) => length
      )
    const room = contextLength - maxTokens
    const roomForQuestion = room - (yield* promptTokens(""))
    for (const { question } of problems) {
      if (mostTokens(question) <= roomForQuestion) continue
      const tokens = yield* promptTokens(question)
      if (tokens > room) {
        return yield* new PromptTooLong({ question, promptTokens: tokens, maxTokens, contextLength })
      }
    }
  }
)
