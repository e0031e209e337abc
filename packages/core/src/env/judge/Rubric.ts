/** A criterion for good answers, written for a judge. */
import * as Effect from "effect/Effect"
import * as Message from "../../chat/Message.ts"
import type { MessagePolicy } from "../../policy/MessagePolicy.ts"
import * as Judge from "./Judge.ts"

/**
 * A grading criterion for a judge, with its range of scores.
 *
 * @see tinker-cookbook `Rubric`
 *
 * @example
 * const polite: Rubric.Rubric = { text: "Is the answer polite?", range: [1, 5] }
 * const grade = Rubric.grade(judge, { rubric: polite, context: messages, completion: Message.assistant("Gladly!"), key: "polite" })
 */
export interface Rubric {
  readonly text: string
  /** The worst and the best score that the judge may give. Default: 0 and 1. */
  readonly range?: readonly [worst: number, best: number]
}

const rangeOf = ({ range = [0, 1] }: Rubric) => range

const speaker = ({ role }: Message.Message) => role === "user" || role === "system" ? "Human" : "Chatbot"

const section = (name: string, content: string) => `<${name}>\n${content}\n</${name}>`

const transcript = (messages: ReadonlyArray<Message.Message>) =>
  messages.map((message) => `${speaker(message)}: ${Message.text(message)}`).join("\n\n")

/** The message that asks a judge for a score. */
export const prompt = (
  self: Rubric,
  context: ReadonlyArray<Message.Message>,
  completion: Message.Message
): Message.Message => {
  const [worst, best] = rangeOf(self)
  return Message.user([
    "Below are a conversation, the chatbot's completion of it, and a rubric. Judge the completion by the rubric alone.",
    section("context", context.length === 0 ? "(nothing before the completion)" : transcript(context)),
    section("completion_to_grade", transcript([completion])),
    section("rubric", self.text),
    `End with a score from ${worst} to ${best}, written as <score>your score</score>.`
  ].join("\n\n"))
}

const written = /<score>\s*([-+]?\d*\.?\d+)\s*<\/score>/

/** The first score in a judge's answer; NaN if there is none. */
const read = (answer: string) => Number(written.exec(answer)?.[1] ?? NaN)

/** A completion to grade with a rubric. */
export interface Request {
  readonly rubric: Rubric
  readonly context: ReadonlyArray<Message.Message>
  readonly completion: Message.Message
  readonly key: string
}

const verdict = Effect.fnUntraced(function*<E, R>(
  judge: MessagePolicy<E, R>,
  { completion, context, key, rubric }: Request
): Effect.fn.Return<number, E | Judge.JudgeError, R> {
  const answer = Message.text(yield* judge.respond({ messages: [prompt(rubric, context, completion)], key }))
  const [worst, best] = rangeOf(rubric)
  const score = read(answer)
  if (score >= worst && score <= best) return (score - worst) / (best - worst)
  return yield* Judge.unclear(key, answer, `a score from ${worst} to ${best} as <score>…</score>`)
})

/**
 * A judge's score, scaled to the range from 0 (worst) to 1 (best). Fails with `JudgeError` if the answer contains no score in the rubric's
 * range.
 */
export const grade = <E, R>(
  judge: MessagePolicy<E, R>,
  request: Request
): Effect.Effect<number, E | Judge.JudgeError, R> => Judge.call(verdict(judge, request), 0)
