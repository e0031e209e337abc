/** An agent that works out what it is asked with a calculator: a loop over the `openai` client, which knows nothing of training. */
import type OpenAI from "openai"

const tools: Array<OpenAI.ChatCompletionTool> = [{
  type: "function",
  function: {
    name: "calculator",
    description: "Works out an expression of numbers, + - * / and parentheses, exactly. Fractions come as a/b.",
    parameters: {
      type: "object",
      properties: { expression: { type: "string", description: "Such as (3 + 4) * 12" } },
      required: ["expression"],
      additionalProperties: false
    }
  }
}]

const operations: Readonly<Record<string, (left: number, right: number) => number>> = {
  "+": (left, right) => left + right,
  "-": (left, right) => left - right,
  "*": (left, right) => left * right
}

/** The value of what a call asks for, or why there is none. */
const calculate = (call: OpenAI.ChatCompletionMessageToolCall): string => {
  const asked = call.type === "function" ? call.function.arguments : ""
  const [, left, sign = "", right] = /(-?\d+) *([-+*]) *(\d+)/.exec(asked) ?? []
  return String(operations[sign]?.(Number(left), Number(right)) ?? "this cannot be worked out")
}

/** What it answers in the end; undefined where it calls the calculator again and again. */
export const answer = async (client: OpenAI, model: string, question: string) => {
  const messages: Array<OpenAI.ChatCompletionMessageParam> = [{ role: "user", content: question }]
  for (let turn = 0; turn < 3; turn++) {
    const { choices: [choice] } = await client.chat.completions.create({ model, messages, tools })
    const calls = choice?.message.tool_calls ?? []
    if (choice === undefined || calls.length === 0) return choice?.message.content ?? undefined
    messages.push(choice.message)
    for (const call of calls) messages.push({ role: "tool", tool_call_id: call.id, content: calculate(call) })
  }
  return undefined
}
