/** An agent that answers questions with a calculator: a loop over the `openai` client that does not know it is being trained. */
import type OpenAI from "openai"
import { calculate, calculator } from "./calculator.ts"

const tools: Array<OpenAI.ChatCompletionTool> = [{ type: "function", function: calculator }]

/** The agent's final answer; undefined if it still calls the calculator in its third turn, or answers without text. */
export const answer = async (client: OpenAI, model: string, question: string) => {
  const messages: Array<OpenAI.ChatCompletionMessageParam> = [{ role: "user", content: question }]
  for (let turn = 0; turn < 3; turn++) {
    const { choices: [choice] } = await client.chat.completions.create({ model, messages, tools })
    const calls = choice?.message.tool_calls ?? []
    if (choice === undefined || calls.length === 0) return choice?.message.content ?? undefined
    messages.push(choice.message)
    for (const call of calls) {
      const asked = call.type === "function" ? call.function.arguments : ""
      messages.push({ role: "tool", tool_call_id: call.id, content: calculate(asked) })
    }
  }
  return undefined
}
