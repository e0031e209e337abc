/** The base format of Qwen3-VL, Qwen3.5, Qwen3.8 and Nemotron 3; each family changes some details. */
import * as Effect from "effect/Effect"
import * as Message from "../../chat/Message.ts"
import type { Parsed, Renderer, RendererError } from "../../chat/Renderer.ts"
import type { Tokenizer } from "../../chat/Tokenizer.ts"
import * as ChatMl from "../ChatMl.ts"
import type * as ChatTemplate from "../ChatTemplate.ts"
import type { MakeReader } from "../DeltaSink.ts"
import * as ImageTokens from "../ImageTokens.ts"
import * as Markup from "../Markup.ts"
import * as StopToken from "../StopToken.ts"
import * as TemplateRenderer from "../TemplateRenderer.ts"

/** The details that differ between families and variants. */
export interface Dialect {
  readonly name: string
  readonly hasExtensionProperty: boolean
  readonly disablesThinking: boolean
  readonly prepare?: NonNullable<ChatTemplate.ChatTemplate["prepare"]>
  /** Changes a message before it is written, for example by trimming its text. */
  readonly adapt: (message: Message.Message, place: ChatTemplate.Place) => Effect.Effect<Message.Message, RendererError>
  /** Whether the assistant message at this place is written without its thinking. */
  readonly strips: (place: ChatTemplate.Place) => boolean
  readonly thinking: (thinking: string) => string
  /** Text that the template adds after an assistant's header, such as an empty thinking block. */
  readonly headerSuffix: (message: Message.Message, place: ChatTemplate.Place) => string
  /** The header of the turn to generate. */
  readonly generationHeader: (role: string, isFirst: boolean) => string
  /** Text around a tool result. */
  readonly answer: readonly [before: string, after: string]
  /** Text between the results of consecutive tools, which share one turn; `undefined` if each has its own turn. */
  readonly betweenAnswers: string | undefined
  /** The calls of a message with a list of calls, and the separator between its text and the calls. */
  readonly calls: (
    message: Message.Message,
    calls: ReadonlyArray<Message.ToolCall>
  ) => Effect.Effect<string, RendererError>
  readonly images: ImageTokens.Images
  readonly read: (text: string, isCut: boolean) => Message.Message
  readonly reader: MakeReader
  readonly toolsPrefix: NonNullable<Renderer["toolsPrefix"]>
  /** Absent if calls are not JSON. */
  readonly callForm?: NonNullable<Renderer["calls"]>
}

const content = (
  dialect: Dialect,
  message: Message.Message,
  place: ChatTemplate.Place
): ReadonlyArray<ImageTokens.Written> => {
  const stripped = message.role === "assistant" && dialect.strips(place)
  const pieces = Message.parts(stripped ? Message.withoutThinking(message) : message).map((part) => {
    if (part.type === "image") return part
    return Markup.textOf(message.role, part.type === "text" ? part.text : dialect.thinking(part.thinking))
  })
  return dialect.images.wrap(pieces)
}

const isGrouped = (dialect: Dialect, message: Message.Message, neighbour: Message.Message | undefined) =>
  dialect.betweenAnswers !== undefined && message.role === "tool" && neighbour?.role === "tool"

const header = (dialect: Dialect, message: Message.Message, place: ChatTemplate.Place): string => {
  if (isGrouped(dialect, message, place.previous)) return dialect.betweenAnswers ?? ""
  const suffix = message.role === "assistant" ? dialect.headerSuffix(message, place) : ""
  return ChatMl.header(message.role, place.index === 0) + suffix
}

const body = Effect.fnUntraced(function*(dialect: Dialect, message: Message.Message, place: ChatTemplate.Place) {
  const [before, after] = message.role === "tool" ? dialect.answer : ["", ""]
  const calls = message.toolCalls === undefined ? "" : yield* dialect.calls(message, message.toolCalls)
  const end = isGrouped(dialect, message, place.next) ? "" : ChatMl.endOfTurn
  return [before, ...content(dialect, message, place), after, Markup.plain(calls), end]
})

/** Splits the header of the last assistant message where its prompt ends; the model generates the rest. */
const splitHeader = (dialect: Dialect, written: string, message: Message.Message, place: ChatTemplate.Place) => {
  const prompt = dialect.generationHeader("assistant", place.index === 0)
  const isProduced = message.role === "assistant" && place.isLast && written.startsWith(prompt)
  return isProduced ? [prompt, written.slice(prompt.length)] as const : [written, ""] as const
}

const render = Effect.fnUntraced(function*(
  dialect: Dialect,
  encoder: Markup.Encoder,
  given: Message.Message,
  place: ChatTemplate.Place
) {
  const message = yield* dialect.adapt(given, place)
  const [introduction, rest] = splitHeader(dialect, header(dialect, message, place), message, place)
  const written = yield* body(dialect, message, place)
  return {
    header: encoder.encode(introduction),
    output: [encoder.encode(rest), ...yield* ImageTokens.encode(dialect.name, dialect.images, encoder, written)]
  }
})

const parse = Effect.fnUntraced(function*(dialect: Dialect, tokenizer: Tokenizer, end: number, tokens: Int32Array) {
  const { termination, text } = yield* StopToken.split(dialect.name, tokenizer, end, tokens)
  return { message: dialect.read(text, termination === "malformed"), termination } satisfies Parsed
})

/** Makes the renderer of a dialect. */
export const make = Effect.fnUntraced(function*(
  dialect: Dialect,
  tokenizer: Tokenizer
): Effect.fn.Return<Renderer, RendererError> {
  const { disablesThinking, hasExtensionProperty, name, prepare } = dialect
  const encoder = yield* Markup.encoder(
    name,
    tokenizer,
    [ChatMl.startOfTurn, ChatMl.endOfTurn],
    dialect.images.controls
  )
  const end = encoder.id(ChatMl.endOfTurn)
  return TemplateRenderer.make({
    name,
    tokenizer,
    stop: [end],
    hasExtensionProperty,
    disablesThinking,
    beginning: new Int32Array(),
    ...(prepare === undefined ? {} : { prepare }),
    message: (message, place) => render(dialect, encoder, message, place),
    generationHeader: (role, { index }) =>
      Effect.sync(() => encoder.encode(dialect.generationHeader(role, index === 0))),
    parse: (tokens) => parse(dialect, tokenizer, end, tokens),
    reader: () => dialect.reader,
    toolsPrefix: dialect.toolsPrefix,
    ...(dialect.callForm === undefined ? {} : { calls: dialect.callForm })
  })
})
