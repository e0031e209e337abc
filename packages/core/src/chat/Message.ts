/**
 * Messages of a conversation, and the parts of their content.
 *
 * @example
 * const conversation = [Message.system("Answer with one number."), Message.user("2 + 2?"), Message.assistant("4")]
 */

export interface TextPart {
  readonly type: "text"
  readonly text: string
}

/** Reasoning that is part of a message's content. */
export interface ThinkingPart {
  readonly type: "thinking"
  readonly thinking: string
}

/** An encoded image. `expectedTokens`, if given, is the number of positions it takes in a prompt. */
export interface ImagePart {
  readonly type: "image"
  readonly data: Uint8Array
  readonly format: "png" | "jpeg"
  readonly expectedTokens?: number
}

/** A part of a message's content. */
export type ContentPart = TextPart | ThinkingPart | ImagePart

/** A tool call. `arguments` is JSON text, as the model wrote it. */
export interface ToolCall {
  readonly id?: string
  readonly function: { readonly name: string; readonly arguments: string }
}

/** The text of a tool call that cannot be parsed, and the reason. */
export interface UnparsedToolCall {
  readonly rawText: string
  readonly error: string
}

/** A message of a conversation. A string as content means the same as one text part. @see tinker-cookbook `Message` */
export interface Message {
  readonly role: string
  readonly content: string | ReadonlyArray<ContentPart>
  readonly toolCalls?: ReadonlyArray<ToolCall>
  readonly unparsedToolCalls?: ReadonlyArray<UnparsedToolCall>
  readonly toolCallId?: string
  readonly name?: string
  /** Whether a supervised example trains on the message. The mode "customized" needs it on every message; other modes refuse it. */
  readonly trainable?: boolean
}

/** A user message with text content. */
export const user = (content: string): Message => ({ role: "user", content })
/** An assistant message with text content. */
export const assistant = (content: string): Message => ({ role: "assistant", content })
/** A system message with text content. */
export const system = (content: string): Message => ({ role: "system", content })

/** The text of the message: a string as it is, or the text parts joined. */
export const text = (message: Pick<Message, "content">): string =>
  typeof message.content === "string"
    ? message.content
    : message.content.map((part) => part.type === "text" ? part.text : "").join("")

/** The content as parts; a string is one text part. */
export const parts = (message: Message): ReadonlyArray<ContentPart> =>
  typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content

/** The thinking parts joined; empty if the content is a string. */
export const thinking = (message: Pick<Message, "content">): string =>
  typeof message.content === "string"
    ? ""
    : message.content.map((part) => part.type === "thinking" ? part.thinking : "").join("")

/** The message without its thinking parts. Thinking that is written inside a string is kept. */
export const withoutThinking = (message: Message): Message =>
  typeof message.content === "string"
    ? message
    : { ...message, content: message.content.filter((part) => part.type !== "thinking") }

/** Whether the message has a thinking part, or a string that opens a thinking block. */
export const hasThinking = (message: Message): boolean =>
  typeof message.content === "string"
    ? message.content.includes("<think>")
    : message.content.some((part) => part.type === "thinking")

/** Index of the last user message, or −1 if there is none. */
export const lastUserIndex = (messages: ReadonlyArray<Message>): number =>
  messages.findLastIndex((message) => message.role === "user")

/**
 * Adds the tool's name to each tool answer that has none. The name comes from the latest earlier call with the answer's id; if one message
 * has several calls with that id, from the first of them without an answer.
 */
export const withToolNames = (messages: ReadonlyArray<Message>): ReadonlyArray<Message> => {
  const open = new Map<string, ReadonlyArray<string>>()
  return messages.map((message) => {
    const calls = (message.toolCalls ?? []).flatMap(({ function: { name }, id }) =>
      id === undefined ? [] : [{ id, name }]
    )
    for (const { id } of calls) open.set(id, calls.flatMap((call) => call.id === id ? [call.name] : []))
    if (message.role !== "tool" || message.toolCallId === undefined) return message
    const [name, ...others] = open.get(message.toolCallId) ?? []
    if (others.length > 0) open.set(message.toolCallId, others)
    return name === undefined || message.name !== undefined ? message : { ...message, name }
  })
}
