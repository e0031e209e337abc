/** Converts conversations from and to Anthropic's message format. */
import { Message } from "@effect-rl/core"
import type { ResponseStream, ToolSpec } from "@effect-rl/core/renderers"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Reply from "../Reply.ts"
import type * as Wire from "./AnthropicRequest.ts"

const textOf = (content: string | ReadonlyArray<{ readonly text: string }> | null | undefined) =>
  typeof content === "string" ? content : (content ?? []).map(({ text }) => text).join("")

/** The result of a call as text. A search result lists the tools that it found; these tools are shown to the model anyway. */
const resultOf = ({ content }: Wire.ToolResult) =>
  typeof content === "string" || content === null || content === undefined
    ? content ?? ""
    : content.map((block) => block.type === "text" ? block.text : `${block.tool_name}\n`).join("")

const partOf = (block: Wire.Block): ReadonlyArray<Message.ContentPart> => {
  switch (block.type) {
    case "text":
      return [{ type: "text", text: block.text }]
    case "thinking":
      return [{ type: "thinking", thinking: block.thinking }]
    case "image":
      return [{
        type: "image",
        data: block.source.data,
        format: block.source.media_type === "image/png" ? "png" : "jpeg"
      }]
    default:
      return []
  }
}

const callOf = (block: Wire.Block): ReadonlyArray<Message.ToolCall> =>
  block.type !== "tool_use"
    ? []
    : [{ id: block.id, function: { name: block.name, arguments: JSON.stringify(block.input) } }]

/**
 * The messages in an Anthropic message. Tool results come before the user's text in the same message. An empty message
 * still counts as a turn.
 */
const messagesOf = ({ content, role }: Wire.Message): ReadonlyArray<Message.Message> => {
  if (typeof content === "string") return [{ role, content }]
  const parts = content.flatMap(partOf)
  const toolCalls = content.flatMap(callOf)
  const results = content.flatMap((block): ReadonlyArray<Message.Message> => {
    if (block.type !== "tool_result") return []
    return [{ role: "tool", content: resultOf(block), toolCallId: block.tool_use_id }]
  })
  if (parts.length === 0 && results.length > 0) return results
  return [...results, { role, content: parts, ...(toolCalls.length === 0 ? {} : { toolCalls }) }]
}

/** The system prompt and the messages, for a renderer. */
export const toMessages = ({ messages, system }: Wire.CountTokens): ReadonlyArray<Message.Message> => {
  const text = textOf(system)
  return Message.withToolNames([
    ...(text === "" ? [] : [Message.system(text)]),
    ...messages.flatMap(messagesOf)
  ])
}

export const toToolSpecs = ({ tools }: Wire.CountTokens): ReadonlyArray<ToolSpec.ToolSpec> =>
  (tools ?? []).map(({ description, input_schema, name }) => ({
    name,
    description: description ?? "",
    parameters: input_schema
  }))

const decodeInput = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Json)))

/** The arguments of a call as an object. Arguments that are not a JSON object are passed as text. */
const inputOf = ({ function: { arguments: text } }: Message.ToolCall) =>
  Option.getOrElse(decodeInput(text), () => ({ arguments: text }))

export const toolUse = (call: Message.ToolCall) => ({
  type: "tool_use" as const,
  id: call.id ?? "",
  name: call.function.name,
  input: inputOf(call)
})

/** A block of a response. */
type Answered =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: "" }
  | ReturnType<typeof toolUse>

/** The blocks of a response in order: reasoning, text and calls. */
export const fromMessage = (message: Message.Message): ReadonlyArray<Answered> => [
  ...Message.parts(message).flatMap((part): ReadonlyArray<Answered> => {
    if (part.type === "thinking") return [{ type: "thinking", thinking: part.thinking, signature: "" }]
    return part.type === "text" && part.text !== "" ? [{ type: "text", text: part.text }] : []
  }),
  ...(message.toolCalls ?? []).map(toolUse)
]

const stopReason = ({ isCut, parsed: { message }, stop }: Reply.Ended) => {
  if (stop !== undefined) return "stop_sequence"
  if (isCut) return "max_tokens"
  return message.toolCalls !== undefined && message.toolCalls.length > 0 ? "tool_use" : "end_turn"
}

/** The reason why a reply ended, and the stop text that ended it, or null. */
export const stop = (ended: Reply.Ended) => ({ stop_reason: stopReason(ended), stop_sequence: ended.stop ?? null })

/** The block that a delta opens, and what the delta adds to it. */
export const fromDelta = (delta: ResponseStream.Delta, calls: number) => {
  switch (delta._tag) {
    case "Text":
      return { key: "text", block: { type: "text", text: "" }, delta: { type: "text_delta", text: delta.text } }
    case "Thinking":
      return {
        key: "thinking",
        block: { type: "thinking", thinking: "", signature: "" },
        delta: { type: "thinking_delta", thinking: delta.thinking }
      }
    case "ToolCall": {
      const { input, ...call } = toolUse(delta.toolCall)
      return {
        key: `call ${calls}`,
        block: { ...call, input: {} },
        delta: { type: "input_json_delta", partial_json: JSON.stringify(input) }
      }
    }
    case "UnparsedToolCall":
      return {
        key: "text",
        block: { type: "text", text: "" },
        delta: { type: "text_delta", text: delta.unparsedToolCall.rawText }
      }
  }
}
