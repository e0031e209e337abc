/** Decides which of two answers is better. */
import * as Effect from "effect/Effect"
import * as Message from "../../chat/Message.ts"
import type { MessagePolicy } from "../../policy/MessagePolicy.ts"
import * as Judge from "./Judge.ts"

/** Two completions of one prompt that are compared. @see tinker-cookbook `Comparison` */
export interface Comparison {
  readonly prompt: ReadonlyArray<Message.Message>
  readonly completionA: ReadonlyArray<Message.Message>
  readonly completionB: ReadonlyArray<Message.Message>
}

/** A model that says which of two completions is better. @see tinker-cookbook `PreferenceModel` */
export interface PreferenceModel<out E = never, out R = never> {
  /** A number from −1 (A is better) to 1 (B is better). The same key gives the same random draws. */
  readonly compare: (comparison: Comparison, key: string) => Effect.Effect<number, E, R>
}

/** The conversation that asks for a preference: both completions under headings, then the place for the verdict. */
export const conversation = ({ completionA, completionB, prompt }: Comparison): ReadonlyArray<Message.Message> => [
  ...prompt,
  Message.system("==== Completion A ===="),
  ...completionA,
  Message.system("==== Completion B ===="),
  ...completionB,
  Message.system("==== Preference ====")
]

const verdicts = new Map([["A", -1], ["Tie", 0], ["B", 1]])

/**
 * A preference model that was trained to continue `conversation` with `A`, `B` or `Tie`. Any other answer fails with `JudgeError`.
 *
 * @example
 * const score = PreferenceModel.fromMessagePolicy(judge).compare({
 *   prompt: [Message.user("Write a haiku.")],
 *   completionA: [Message.assistant("An old pond: a frog …")],
 *   completionB: [Message.assistant("No.")]
 * }, "haiku")
 *
 * @see tinker-cookbook `PreferenceModelFromChatRenderer`
 */
export const fromMessagePolicy = <E, R>(judge: MessagePolicy<E, R>): PreferenceModel<E | Judge.JudgeError, R> => ({
  compare: Effect.fnUntraced(function*(comparison, key) {
    const answer = Message.text(yield* judge.respond({ messages: conversation(comparison), key }))
    const verdict = verdicts.get(answer.trim())
    return verdict ?? (yield* Judge.unclear(key, answer, "A, B or Tie"))
  })
})
