/**
 * Converts conversations, tools and responses to and from OpenAI's chat completion format.
 *
 * @example
 * const messages = OpenAi.toMessages([{ role: "user", content: "What is 2 + 2?" }])
 * const answered = OpenAi.fromMessage(Message.assistant("4"))
 */
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Message from "./Message.ts"
import type { Parsed } from "./Renderer.ts"
import type { Delta } from "./ResponseStream.ts"
import type { ToolSpec } from "./ToolSpec.ts"

/** A function call. Its arguments are JSON text. */
export const ToolCall = Schema.Struct({
  id: Schema.optionalKey(Schema.NullOr(Schema.String)),
  type: Schema.optionalKey(Schema.Literal("function")),
  function: Schema.Struct({ name: Schema.String, arguments: Schema.String })
})
export type ToolCall = typeof ToolCall.Type

/** A part of a message's content. */
export const Part = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
  Schema.Struct({ type: Schema.Literal("image_url"), image_url: Schema.Struct({ url: Schema.String }) })
])
export type Part = typeof Part.Type

/** One message. Reasoning is in `reasoning_content`, the name that services with open models use. */
export const ChatMessage = Schema.Struct({
  role: Schema.String,
  content: Schema.optionalKey(Schema.NullOr(Schema.Union([Schema.String, Schema.Array(Part)]))),
  reasoning_content: Schema.optionalKey(Schema.NullOr(Schema.String)),
  tool_calls: Schema.optionalKey(Schema.NullOr(Schema.Array(ToolCall))),
  tool_call_id: Schema.optionalKey(Schema.String),
  name: Schema.optionalKey(Schema.String)
})
export type ChatMessage = typeof ChatMessage.Type

/** A function that a model may call. */
export const Tool = Schema.Struct({
  type: Schema.Literal("function"),
  function: Schema.Struct({
    name: Schema.String,
    description: Schema.optionalKey(Schema.NullOr(Schema.String)),
    parameters: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.Json)))
  })
})
export type Tool = typeof Tool.Type

/** A message contains something that renderers cannot read. */
export class OpenAiError extends Schema.TaggedError<OpenAiError>()("OpenAiError", {
  field: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${this.field}: ${this.detail}`
  }
}

const dataUri = /^data:image\/(png|jpeg);base64,/

/** Decodes an image from a data URL. Images are never fetched from an address. */
const toImage = (url: string, field: string): Effect.Effect<Message.ImagePart, OpenAiError> => {
  const [prefix = "", format] = dataUri.exec(url) ?? []
  const data = Base64.decode(url.slice(prefix.length))
  if ((format === "png" || format === "jpeg") && Result.isSuccess(data)) {
    return Effect.succeed({ type: "image", data: data.success, format })
  }
  const detail = `is "${url.slice(0, 40)}", expected a data URI of type image/png or image/jpeg in Base64`
  return Effect.fail(new OpenAiError({ field, detail }))
}

const toParts = (content: ChatMessage["content"], field: string) => {
  if (typeof content === "string" || content === null || content === undefined) {
    return Effect.succeed<Message.Message["content"]>(content ?? "")
  }
  return Effect.forEach(
    content,
    (part, index): Effect.Effect<Message.ContentPart, OpenAiError> =>
      part.type === "text" ? Effect.succeed(part) : toImage(part.image_url.url, `${field}[${index}].image_url.url`)
  )
}

const toCall = (call: ToolCall): Message.ToolCall => ({
  ...(call.id === undefined || call.id === null ? {} : { id: call.id }),
  function: call.function
})

const withReasoning = (content: Message.Message["content"], reasoning: string): Message.Message["content"] => {
  if (reasoning === "") return content
  const parts = typeof content !== "string" ? content : content === "" ? [] : [{ type: "text" as const, text: content }]
  return [{ type: "thinking", thinking: reasoning }, ...parts]
}

const toMessage = (message: ChatMessage, index: number) =>
  Effect.mapEager(toParts(message.content, `messages[${index}].content`), (content): Message.Message => {
    const toolCalls = message.tool_calls ?? []
    return {
      role: message.role,
      content: withReasoning(content, message.reasoning_content ?? ""),
      ...(toolCalls.length === 0 ? {} : { toolCalls: toolCalls.map(toCall) }),
      ...(message.tool_call_id === undefined ? {} : { toolCallId: message.tool_call_id }),
      ...(message.name === undefined ? {} : { name: message.name })
    }
  })

/**
 * Converts a conversation for a renderer. Null or absent content becomes empty text; a tool answer without a name gets the name of the call
 * it answers. Fails for an image that is not given as a data URL.
 *
 * @see tinker-cookbook `openai_messages_to_tinker`
 */
export const toMessages = Effect.fnUntraced(function*(
  messages: ReadonlyArray<ChatMessage>
): Effect.fn.Return<ReadonlyArray<Message.Message>, OpenAiError> {
  return Message.withToolNames(yield* Effect.forEach(messages, toMessage))
})

/** Converts a tool from OpenAI's format. @see tinker-cookbook `openai_tools_to_tinker` */
export const toToolSpec = ({ function: { description, name, parameters } }: Tool): ToolSpec => ({
  name,
  description: description ?? "",
  parameters: parameters ?? {}
})

/** Converts a tool to OpenAI's format. @see tinker-cookbook `tool_specs_to_openai_tools` */
export const fromToolSpec = ({ description, name, parameters }: ToolSpec): Tool => ({
  type: "function",
  function: { name, description, parameters }
})

/** The call in OpenAI's format. A call without an id gets one from its index, such as `call_0`. */
const fromCall = (call: Message.ToolCall, index: number) => ({
  id: call.id ?? `call_${index}`,
  type: "function" as const,
  function: call.function
})

const fromImage = ({ data, format }: Message.ImagePart): Part => ({
  type: "image_url",
  image_url: { url: `data:image/${format};base64,${Base64.encode(data)}` }
})

/** The content in OpenAI's format: one string, or the texts and images in order if there is an image. */
const fromContent = (message: Message.Message): string | ReadonlyArray<Part> => {
  const parts = Message.parts(message)
  if (!parts.some((part) => part.type === "image")) return Message.text(message)
  return parts.flatMap((part): ReadonlyArray<Part> => {
    if (part.type === "image") return [fromImage(part)]
    return part.type === "text" ? [part] : []
  })
}

/**
 * The message in OpenAI's format. The content is the joined text, or a list of parts if there is an image; `reasoning_content` is the
 * joined reasoning.
 *
 * @see tinker-cookbook `to_openai_message`
 */
export const fromMessage = (message: Message.Message): ChatMessage => {
  const reasoning = Message.thinking(message)
  const { name, role, toolCallId, toolCalls = [] } = message
  return {
    role,
    content: fromContent(message),
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls.map(fromCall) }),
    ...(role !== "tool" || toolCallId === undefined ? {} : { tool_call_id: toolCallId }),
    ...(role !== "tool" || name === undefined ? {} : { name })
  }
}

/** Adds missing ids: to each call from its position, and to each tool answer from the call that it answers. */
const identified = (messages: ReadonlyArray<Message.Message>): ReadonlyArray<Message.Message> => {
  let calls = 0
  let open: Array<string> = []
  return messages.map((message) => {
    const { role, toolCallId, toolCalls = [] } = message
    if (toolCalls.length > 0) {
      const identified = toolCalls.map((call) => ({ ...call, id: call.id ?? `call_${calls++}` }))
      open = identified.map(({ id }) => id)
      return { ...message, toolCalls: identified }
    }
    const id = role === "tool" ? toolCallId ?? open[0] : undefined
    open = open.filter((other) => other !== id)
    return id === undefined ? message : { ...message, toolCallId: id }
  })
}

/**
 * Converts a conversation to OpenAI's format. Calls without an id get one from their position in the conversation. Tool answers without an
 * id are matched in order with the calls before them.
 *
 * @see tinker-cookbook `tinker_messages_to_openai`
 */
export const fromMessages = (messages: ReadonlyArray<Message.Message>): ReadonlyArray<ChatMessage> =>
  identified(messages).map(fromMessage)

/** A conversation as one JSON object, as in fine-tuning files: its messages, and the tools that the model was shown. */
export const ChatConversation = Schema.Struct({
  messages: Schema.Array(ChatMessage),
  tools: Schema.optionalKey(Schema.NullOr(Schema.Array(Tool)))
})
export type ChatConversation = typeof ChatConversation.Type

/** A conversation, and the tools that the model was shown. */
export interface Conversation {
  readonly messages: ReadonlyArray<Message.Message>
  readonly tools: ReadonlyArray<ToolSpec>
}

/** Converts a conversation with its tools for a renderer. Fails as `toMessages` does. */
export const toConversation = Effect.fnUntraced(function*(
  { messages, tools }: ChatConversation
): Effect.fn.Return<Conversation, OpenAiError> {
  return { messages: yield* toMessages(messages), tools: (tools ?? []).map(toToolSpec) }
})

/** Converts a conversation with its tools to OpenAI's format. */
export const fromConversation = ({ messages, tools }: Conversation): ChatConversation => ({
  messages: fromMessages(messages),
  ...(tools.length > 0 && { tools: tools.map(fromToolSpec) })
})

/** The `finish_reason` of a response: `length` if it did not end properly, `tool_calls` if it has calls to answer, otherwise `stop`. */
export const finishReason = ({ message, termination }: Parsed): "stop" | "tool_calls" | "length" => {
  if (termination === "malformed") return "length"
  return message.toolCalls !== undefined && message.toolCalls.length > 0 ? "tool_calls" : "stop"
}

/** The `delta` of a chunk in a streamed response. */
export interface ChunkDelta {
  readonly content?: string
  readonly reasoning_content?: string
  readonly tool_calls?: ReadonlyArray<ReturnType<typeof fromCall> & { readonly index: number }>
}

/**
 * A delta of a streamed response as the `delta` of a chunk; `index` is the number of calls before it. A call that cannot be parsed becomes
 * content with its raw text.
 */
export const fromDelta = (delta: Delta, index: number): ChunkDelta => {
  switch (delta._tag) {
    case "Text":
      return { content: delta.text }
    case "Thinking":
      return { reasoning_content: delta.thinking }
    case "ToolCall":
      return { tool_calls: [{ index, ...fromCall(delta.toolCall, index) }] }
    case "UnparsedToolCall":
      return { content: delta.unparsedToolCall.rawText }
  }
}
