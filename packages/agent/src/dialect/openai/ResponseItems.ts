/** Converts conversations and replies from and to items of the Responses API. */
import { Message } from "@effect-rl/core"
import type { OpenAi } from "@effect-rl/core/renderers"
import type * as Arr from "effect/Array"
import type * as OpenAiAnswer from "./OpenAiAnswer.ts"
import type * as Wire from "./OpenAiResponse.ts"
import * as ResponseTools from "./ResponseTools.ts"

const toPart = (part: Wire.Part): OpenAi.Part =>
  part.type === "input_image"
    ? { type: "image_url", image_url: { url: part.image_url } }
    : { type: "text", text: part.text }

const toMessage = (item: Wire.Item): OpenAi.ChatMessage => {
  switch (item.type) {
    case "function_call":
    case "custom_tool_call": {
      const text = item.type === "function_call" ? item.arguments : ResponseTools.argumentsOf(item.input)
      const name = ResponseTools.nameOf(item.name, item.namespace)
      return { role: "assistant", tool_calls: [{ id: item.call_id, function: { name, arguments: text } }] }
    }
    case "function_call_output":
    case "custom_tool_call_output": {
      const { call_id, output } = item
      const content = typeof output === "string" ? output : output.map(({ text }) => text).join("")
      return { role: "tool", tool_call_id: call_id, content }
    }
    case "reasoning":
      return { role: "assistant", reasoning_content: (item.content ?? []).map(({ text }) => text).join("") }
    default: {
      const { content, role } = item
      return { role, content: typeof content === "string" ? content : content.map(toPart) }
    }
  }
}

/** Consecutive messages that are merged into one. */
type Run = Arr.NonEmptyArray<OpenAi.ChatMessage>

const merged = (run: Run): OpenAi.ChatMessage => ({
  ...run.reduce((all, one) => ({ ...all, ...one })),
  ...(run.length === 1 ? {} : { tool_calls: run.flatMap(({ tool_calls }) => tool_calls ?? []) })
})

/** Whether the next message belongs to the same assistant turn. Adjacent reasoning, text and calls form one message with a single text. */
const continues = (run: Run, next: OpenAi.ChatMessage) =>
  run[0].role === "assistant" && next.role === "assistant" &&
  (next.content === undefined || run.every(({ content }) => content === undefined))

/** Converts the conversation to chat-completion messages. */
export const toMessages = (
  input: ReadonlyArray<Wire.Item>,
  instructions?: string | null
): ReadonlyArray<OpenAi.ChatMessage> => {
  const first = typeof instructions === "string" ? [{ role: "system", content: instructions }] : []
  const runs: Array<Run> = []
  for (const next of input.map(toMessage)) {
    const last = runs.at(-1)
    if (last !== undefined && continues(last, next)) last.push(next)
    else runs.push([next])
  }
  return [...first, ...runs.map(merged)]
}

/** An item of an answer. `text` is its text, reasoning, arguments or input, depending on `kind`. */
export interface Item {
  readonly kind: "message" | "reasoning" | ResponseTools.Called["kind"]
  readonly text: string
  readonly call?: ResponseTools.Called["call"]
  /** Log-probabilities of a message, if they were requested. */
  readonly logprobs?: ReadonlyArray<OpenAiAnswer.Logprob>
}

export const isCall = ({ kind }: Item) => kind === "function_call" || kind === "custom_tool_call"

/** The field with a call's arguments or input. */
export const given = ({ kind, text }: Item) => kind === "custom_tool_call" ? { input: text } : { arguments: text }

const prefixes = { message: "msg", reasoning: "rs", function_call: "fc", custom_tool_call: "ctc" }

/** The id of item `index` of a response. */
export const idOf = (response: string, { kind }: Item, index: number) =>
  `${prefixes[kind]}_${response.replace(/^resp_/, "")}_${index}`

/** The content part with the item's text; calls have none. */
export const partOf = ({ kind, logprobs = [], text }: Item) =>
  kind === "reasoning"
    ? { type: "reasoning_text", text }
    : { type: "output_text", text, annotations: [], logprobs }

/** The item in the format that clients read. */
export const shown = (response: string, item: Item, index: number, status: "completed" | "in_progress") => {
  const { call, kind } = item
  const id = idOf(response, item, index)
  const content = status === "completed" ? [partOf(item)] : []
  if (isCall(item)) {
    return { type: kind, id, ...call, ...given(status === "completed" ? item : { kind, text: "" }), status }
  }
  return kind === "reasoning"
    ? { type: kind, id, summary: [], content, status }
    : { type: kind, id, role: "assistant", content, status }
}

/** The item in the format that a client would send. */
export const sent = (response: string, item: Item, index: number) => {
  const { call = { call_id: "", name: "" }, kind, text } = item
  const id = idOf(response, item, index)
  switch (kind) {
    case "message":
      return { type: kind, id, role: "assistant" as const, content: text }
    case "reasoning":
      return { type: kind, id, content: [{ type: "reasoning_text" as const, text }] }
    case "function_call":
      return { type: kind, id, ...call, arguments: text }
    case "custom_tool_call":
      return { type: kind, id, ...call, input: text }
  }
}

/** The items of a message: reasoning, text and calls. */
export const fromMessage = (
  message: Message.Message,
  called: (call: Message.ToolCall) => Item,
  logprobs: ReadonlyArray<OpenAiAnswer.Logprob>
): ReadonlyArray<Item> => {
  const reasoning = Message.thinking(message)
  const text = Message.text(message)
  const calls = (message.toolCalls ?? []).map(called)
  return [
    ...(reasoning === "" ? [] : [{ kind: "reasoning", text: reasoning } as const]),
    ...(text === "" && calls.length > 0 ? [] : [{ kind: "message", text, logprobs } as const]),
    ...calls
  ]
}
