/** A transcript as OpenAI's messages. */
import type { OpenAi } from "@effect-rl/core"
import type * as Entry from "../story/Entry.ts"

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

/** Whether the turn was shown everything of the turn before, and what that said. */
const goesOn = ({ prompt }: Entry.TurnView, before: Entry.TurnView) =>
  [...before.prompt, ...before.tokens].every((token, index) => token === prompt[index])

/** The text that a turn was shown and the one before was not; all of it after a fork. */
const shown = (turn: Entry.TurnView, before: Entry.TurnView | undefined): string => {
  const from = before !== undefined && goesOn(turn, before) ? before.prompt.length + before.tokens.length : 0
  return (turn.promptPieces ?? []).slice(from).map(({ text }) => text).join("")
}

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
