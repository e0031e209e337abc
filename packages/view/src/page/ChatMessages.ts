/** A transcript as OpenAI's messages. */
import type { OpenAi } from "@effect-rl/core/renderers"
import type * as Entry from "../story/Entry.ts"
import * as Shown from "../story/Shown.ts"

const own = (logs: Entry.Logs, name: string): string | undefined =>
  Object.hasOwn(logs, name) ? String(logs[name]) : undefined

/** Answers of tools to the calls of a turn, where its environment logged them. */
const toolAnswers = ({ logs, message }: Entry.TurnView): ReadonlyArray<OpenAi.ChatMessage> =>
  (message?.tool_calls ?? []).flatMap((call, index) => {
    const content = own(logs, `tool_result_${index}`)
    return content === undefined
      ? []
      : [{
        role: "tool",
        content,
        name: call.function.name,
        ...(typeof call.id === "string" && { tool_call_id: call.id })
      }]
  })

/** The text that a turn was shown and the one before was not; all of it after a fork. */
const shown = ({ prompt, promptPieces }: Entry.TurnView, before: Entry.TurnView | undefined): string =>
  (promptPieces ?? []).slice(Shown.from(prompt, before)).map(({ text }) => text).join("")

const user = (content: string | undefined): ReadonlyArray<OpenAi.ChatMessage> =>
  content === undefined || content === "" ? [] : [{ role: "user", content }]

/**
 * What was asked, said and answered by tools. The first question is the one that the environment logged; other prompts are their text, as the
 * renderer wrote it. A response that cannot be read is the text that was logged of it.
 */
export const of = (turns: ReadonlyArray<Entry.TurnView>): ReadonlyArray<OpenAi.ChatMessage> =>
  turns.flatMap((turn, index) => {
    const before = turns[index - 1]
    const answers = before === undefined ? [] : toolAnswers(before)
    const question = index === 0 ? own(turn.logs, "question") : undefined
    const asked = answers.length > 0 ? answers : user(question ?? shown(turn, before))
    const said: OpenAi.ChatMessage = turn.message ?? { role: "assistant", content: own(turn.logs, "response") ?? "" }
    return [...asked, said]
  })
