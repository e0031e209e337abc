/** An environment in which the model finds a thing by yes-or-no questions. */
import { type ChatModel, Message, MessageEnv, Score } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import type { Answerer } from "./Answerer.ts"
import * as Things from "./Things.ts"

export interface Options<E> {
  readonly model: Pick<ChatModel.ChatModel, "renderer">
  readonly thing: string
  readonly answerer: Answerer<E>
  /** Most questions and guesses in one game. */
  readonly maxTurns: number
  /** Prefix of the keys of requests to the answerer: the attempt's key. */
  readonly key: string
}

const rules = (maxTurns: number) =>
  Message.system(
    `Find the word that the other player thinks of within ${maxTurns} turns. Each turn, ask a short question that yes or no ` +
      "answers, or write \"Guess: \" and one word without an article, such as \"Guess: ant\"."
  )

/**
 * Each turn asks a question or guesses. The right guess, in lower or upper case, earns 1 and ends the game; anything else earns 0. A turn
 * that is cut at its token limit is answered like any other, and cannot win.
 *
 * @example
 * const env = yield* TwentyQuestionsEnv.make({ model, thing: "eagle", answerer: Answerer.scripted, maxTurns: 20, key: "eagle" })
 *
 * @see tinker-cookbook `TwentyQuestionsEnv`
 */
export const make = <E>({ answerer, key, maxTurns, model, thing }: Options<E>) => {
  let messages: MessageEnv.Conversation = [rules(maxTurns)]
  const answered = (said: string) =>
    Effect.map(answerer.answer(thing, said, `${key}/message${messages.length}`), (answer) => {
      messages = [...messages, Message.assistant(said), Message.user(answer)]
      return answer
    })
  const env = {
    task: { reference: thing },
    limits: { maxTurns },
    initialMessages: Effect.sync(() => messages),
    observeTruncated: (message: Message.Message) => Effect.map(answered(Message.text(message)), () => messages),
    step: Effect.fnUntraced(function*(message: Message.Message): Effect.fn.Return<MessageEnv.Step, E> {
      const said = Message.text(message)
      const answer = yield* answered(said)
      const isRight = Things.guessIn(said) === thing.toLowerCase()
      const step = { reward: Number(isRight), score: Score.correct(isRight), logs: { said, answer } }
      return isRight ? { ...step, _tag: "Done", stopReason: "completed" } : { ...step, _tag: "Continue", messages }
    })
  }
  return MessageEnv.toEnv(env, { model, onLength: "continue" })
}
