/** A tool for agents that talk to OpenAI's chat completions: a calculator of two numbers. */
import type OpenAI from "openai"

export const tools: Array<OpenAI.ChatCompletionTool> = [{
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
export const calculate = (call: OpenAI.ChatCompletionMessageToolCall): string => {
  const asked = call.type === "function" ? call.function.arguments : ""
  const [, left, sign = "", right] = /(-?\d+) *([-+*]) *(\d+)/.exec(asked) ?? []
  return String(operations[sign]?.(Number(left), Number(right)) ?? "this cannot be worked out")
}
