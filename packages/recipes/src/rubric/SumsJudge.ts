/** A judge that applies the rubric of sums by rule instead of a model. */
import { Message, type MessagePolicy } from "@effect-rl/core"
import * as Effect from "effect/Effect"

/** The text between the first opening and the last closing tag, so that a completion cannot end its own section. */
const section = (prompt: string, name: string) => {
  const [open, close] = [`<${name}>\n`, `\n</${name}>`]
  return prompt.slice(prompt.indexOf(open) + open.length, prompt.lastIndexOf(close))
}

const lastNumber = (text: string) => text.replaceAll(",", "").match(/\d+/g)?.at(-1)

/**
 * The answer that the rubric names. The last rubric in the prompt counts, because a completion may contain text that
 * looks like one.
 */
const answerIn = (prompt: string) =>
  /Does the chatbot correctly get the answer (\d+)\?/.exec(prompt.slice(prompt.lastIndexOf("<rubric>")))?.[1]

/**
 * Gives 1 if the last number of the completion is the rubric's answer, and 0 otherwise. For any other rubric it gives
 * no score, so grading fails.
 *
 * @example
 * const group = RubricGradedGroupBuilder.make({
 *   key: "2 + 3",
 *   size: 4,
 *   model,
 *   messages: [Message.user("What is 2 + 3?")],
 *   rubrics: [{ text: "Does the chatbot correctly get the answer 5?" }],
 *   judge: SumsJudge.judge
 * })
 */
export const judge: MessagePolicy.MessagePolicy = {
  respond: ({ messages }) =>
    Effect.sync(() => {
      const prompt = messages.map(Message.text).join("\n")
      const answer = answerIn(prompt)
      if (answer === undefined) return Message.assistant("This rubric is not about a sum.")
      const isRight = lastNumber(section(prompt, "completion_to_grade")) === answer
      return Message.assistant(`<score>${Number(isRight)}</score>`)
    })
}
