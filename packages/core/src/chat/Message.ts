/**
 * Messages of conversations, and their parts.
 *
 * @example
 * const conversation = [Message.system("Answer with one number."), Message.user("2 + 2?"), Message.assistant("4")]
 */

export interface TextPart {
  readonly type: "text"
  readonly text: string
}

/** Reasoning that is part of a message. */
export interface ThinkingPart {
  readonly type: "thinking"
  readonly thinking: string
}

/** An encoded picture. `expectedTokens`, where given, is the number of positions it takes in a prompt. */
export interface ImagePart {
  readonly type: "image"
  readonly data: Uint8Array
  readonly format: "png" | "jpeg"
  readonly expectedTokens?: number
}

/** A part of a message's content. */
export type ContentPart = TextPart | ThinkingPart | ImagePart

/** `arguments` is JSON text, as the model wrote it. */
export interface ToolCall {
  readonly id?: string
  readonly function: { readonly name: string; readonly arguments: string }
}

/** The text of a tool call that cannot be read, and why. */
export interface UnparsedToolCall {
  readonly rawText: string
  readonly error: string
}

/** A string and one text part mean the same. @see tinker-cookbook `Message` */
export interface Message {
  readonly role: string
  readonly content: string | ReadonlyArray<ContentPart>
  readonly toolCalls?: ReadonlyArray<ToolCall>
  readonly unparsedToolCalls?: ReadonlyArray<UnparsedToolCall>
  readonly toolCallId?: string
  readonly name?: string
  /** Whether to train on the message, in supervised examples that train on chosen messages. */
  readonly trainable?: boolean
}

/** A message of the user. */
export const user = (content: string): Message => ({ role: "user", content })
/** A message of the assistant. */
export const assistant = (content: string): Message => ({ role: "assistant", content })
/** A system message. */
export const system = (content: string): Message => ({ role: "system", content })

/** All text parts joined; thinking is left out. */
export const text = (message: Pick<Message, "content">): string =>
  typeof message.content === "string"
    ? message.content
    : message.content.map((part) => part.type === "text" ? part.text : "").join("")

/** The content as parts; a string is one text part. */
export const parts = (message: Message): ReadonlyArray<ContentPart> =>
  typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content

/** All thinking parts joined. */
export const thinking = (message: Pick<Message, "content">): string =>
  typeof message.content === "string"
    ? ""
    : message.content.map((part) => part.type === "thinking" ? part.thinking : "").join("")

/** The same message with its thinking parts removed; thinking written inside a string stays. */
export const withoutThinking = (message: Message): Message =>
  typeof message.content === "string"
    ? message
    : { ...message, content: message.content.filter((part) => part.type !== "thinking") }

/** Whether the message has a thinking part, or a string that opens a thinking block. */
export const hasThinking = (message: Message): boolean =>
  typeof message.content === "string"
    ? message.content.includes("<think>")
    : message.content.some((part) => part.type === "thinking")

/** Position of the last user message, −1 where there is none. */
export const lastUserIndex = (messages: ReadonlyArray<Message>): number =>
  messages.findLastIndex((message) => message.role === "user")

/**
 * The conversation in which each answer of a tool has the name of the call that it answers: of the last call before it with its id or, where
 * one message has several calls with that id, of the first that has no answer yet. A name that is given stays.
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
