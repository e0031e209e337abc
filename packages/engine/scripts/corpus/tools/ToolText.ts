/** The parts of a conversation with tools, as renderer `qwen3_instruct` writes them. */
import * as Message from "@effect-rl/core/chat/Message"
import type { ToolSpec } from "@effect-rl/core/renderers"
import { toolsPrefix } from "@effect-rl/core/renderers/qwen/Qwen3"
import type { Call } from "./ToolTask.ts"

/** JSON with a space after each comma and colon. */
const spaced = (value: unknown): string => {
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).map(([key, entry]) => `${JSON.stringify(key)}: ${spaced(entry)}`)
  return `{${entries.join(", ")}}`
}

/** A call in the assistant's message. */
export const written = ({ arguments: given, name }: Call): string =>
  `<tool_call>\n{"name": ${JSON.stringify(name)}, "arguments": ${spaced(given)}}\n</tool_call>`

/** The text before the first request: the system message followed by the tool declarations. */
export const system = (tools: ReadonlyArray<ToolSpec.ToolSpec>, text: string): string =>
  toolsPrefix(tools, text).map((message) => `<|im_start|>system\n${Message.text(message)}<|im_end|>`).join("")

export const asked = (text: string): string => `\n<|im_start|>user\n${text}<|im_end|>\n<|im_start|>assistant\n`

/** A tool's result as the assistant sees it. */
export const told = (result: string): string => asked(`<tool_response>\n${result}\n</tool_response>`)
