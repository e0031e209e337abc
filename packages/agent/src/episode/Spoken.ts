/** What the messages of a conversation say, ignoring the changes that clients make when they resend messages. */
import { Message } from "@effect-rl/core"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as Crypto from "node:crypto"

/** A message, or adjacent assistant messages; some clients send text and calls separately. */
export interface Spoken {
  readonly role: string
  /**
   * Equal for messages that say the same. It ignores reasoning, call ids, the tool names of results, the order and spacing of arguments,
   * whitespace around text, and the amount of whitespace within assistant text.
   */
  readonly digest: string
  /** The number of messages in the conversation up to the end of this one. */
  readonly end: number
}

const parseJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Json))

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (!Predicate.isObject(value)) return value
  return Object.entries(value).toSorted(([left], [right]) => left < right ? -1 : 1).map((
    [key, one]
  ) => [key, sorted(one)])
}

/** The arguments of a call, equal for other orders and spacing. Some clients resend arguments that are not an object as an object with their text. */
export const argumentsOf = (text: string): unknown => {
  const value = Option.getOrUndefined(parseJson(text.trim() === "" ? "{}" : text))
  return sorted(Predicate.isObject(value) && !Array.isArray(value) ? value : { arguments: text })
}

const withoutReasoning = (text: string) => text.replaceAll(/<think>[^]*?<\/think>/g, "")

const textOf = (message: Message.Message) =>
  message.role === "assistant"
    ? withoutReasoning(Message.text(message)).replaceAll(/\s+/g, " ").trim()
    : Message.text(message).trim()

const hash = (content: string | Uint8Array) => Crypto.hash("sha256", content, "base64url")

/** Contents shorter than this are used instead of a digest. Contents contain brackets, so they cannot be confused with digests. */
const short = 128

const digestOfContent = (content: ReadonlyArray<unknown>) => {
  const text = JSON.stringify(content)
  return text.length < short ? text : hash(text)
}

const imagesOf = (message: Message.Message) =>
  Message.parts(message).flatMap((part) => part.type === "image" ? [hash(part.data)] : [])

/** The calls of a conversation so far, by position. */
interface Calls {
  readonly byId: Map<string, number>
  count: number
  answered: number
}

/** The position of the call that a tool message answers: by its id, or else the next unanswered call. */
const answered = (calls: Calls, { role, toolCallId }: Message.Message) => {
  if (role !== "tool") return undefined
  const next = calls.answered++
  return toolCallId === undefined ? next : calls.byId.get(toolCallId) ?? next
}

const count = (calls: Calls, { role, toolCalls = [] }: Message.Message) => {
  if (role !== "assistant") return
  calls.answered = calls.count
  for (const { id } of toolCalls) {
    if (id !== undefined) calls.byId.set(id, calls.count)
    calls.count++
  }
}

/** Tool calls without their ids. */
const said = ({ toolCalls = [] }: Message.Message) =>
  toolCalls.map(({ function: { arguments: given, name } }) => [name, argumentsOf(given)])

const nameOf = ({ name, role }: Message.Message) => role === "tool" ? undefined : name

const digestOfAssistant = (messages: ReadonlyArray<Message.Message>) => {
  const text = messages.map(textOf).filter((text) => text !== "").join(" ")
  return digestOfContent(["assistant", text, messages.flatMap(said)])
}

const digestOfOther = (message: Message.Message, answers: number | undefined) =>
  digestOfContent([message.role, nameOf(message), textOf(message), imagesOf(message), answers])

/**
 * Digests of single messages, by the position of the call that they answer. Cached because each request compares the whole conversation
 * again.
 */
const digests = new WeakMap<Message.Message, { readonly answers: number | undefined; readonly digest: string }>()

const digestOf = (message: Message.Message, answers: number | undefined) => {
  const known = digests.get(message)
  if (known !== undefined && known.answers === answers) return known.digest
  const digest = message.role === "assistant" ? digestOfAssistant([message]) : digestOfOther(message, answers)
  digests.set(message, { answers, digest })
  return digest
}

/** What the messages of a conversation say, in order. */
export const of = (conversation: ReadonlyArray<Message.Message>): ReadonlyArray<Spoken> => {
  const calls: Calls = { byId: new Map(), count: 0, answered: 0 }
  const spoken: Array<Spoken> = []
  let from = 0
  for (const [index, message] of conversation.entries()) {
    const { role } = message
    const end = index + 1
    count(calls, message)
    if (role === "assistant" && conversation[end]?.role === "assistant") continue
    const digest = index > from
      ? digestOfAssistant(conversation.slice(from, end))
      : digestOf(message, answered(calls, message))
    spoken.push({ role, digest, end })
    from = end
  }
  return spoken
}

/** What a conversation says after the assistant's `message`; `spoken` is what its earlier messages say. */
export const and = (
  spoken: ReadonlyArray<Spoken>,
  earlier: ReadonlyArray<Message.Message>,
  message: Message.Message
): ReadonlyArray<Spoken> =>
  earlier.at(-1)?.role === "assistant"
    ? of([...earlier, message])
    : [...spoken, { role: message.role, digest: digestOf(message, undefined), end: earlier.length + 1 }]

/** The conversation with its call ids replaced by those of another conversation that begins with the same content. */
export const named = (
  conversation: ReadonlyArray<Message.Message>,
  like: ReadonlyArray<Message.Message>
): ReadonlyArray<Message.Message> => {
  const idsOf = (messages: ReadonlyArray<Message.Message>) =>
    messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id))
  const own = idsOf(like)
  const names = new Map(idsOf(conversation).map((id, index) => [id, own[index]]))
  return conversation.map((message) => {
    const id = names.get(message.toolCallId)
    return id === undefined || message.toolCallId === undefined ? message : { ...message, toolCallId: id }
  })
}
