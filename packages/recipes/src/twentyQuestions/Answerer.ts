/** The other player of twenty questions, which chooses a thing and answers questions about it. */
import { Message, type MessagePolicy } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Things from "./Things.ts"

/** Answers a question or a guess about a thing. `key` identifies the turn, and is the same in every run. */
export interface Answerer<out E = never> {
  readonly answer: (thing: string, said: string, key: string) => Effect.Effect<string, E>
}

/** Answers by rule, from the things and questions of `Things`. */
export const scripted: Answerer = { answer: (thing, said) => Effect.succeed(Things.answer(thing, said)) }

const instructions = (thing: string) =>
  `You think of one word in a game of twenty questions, and the word is ${thing}. Answer every question about it with "yes" or "no" ` +
  "and nothing else. If the other player guesses with \"Guess: \" and a word, the answer is \"yes\" only for exactly your word."

/**
 * A model that sees only the latest question, so its answers do not depend on earlier ones.
 *
 * @example
 * const answerer = Answerer.fromMessagePolicy(MessagePolicy.fromSamplingClient(client, { model, maxTokens: 5, temperature: 1, seed: 0 }))
 */
export const fromMessagePolicy = <E>({ respond }: MessagePolicy.MessagePolicy<E>): Answerer<E> => ({
  answer: (thing, said, key) =>
    Effect.map(respond({ messages: [Message.system(instructions(thing)), Message.user(said)], key }), Message.text)
})
