/**
 * The message format of one model family, from which `TemplateRenderer` builds a renderer.
 *
 * @example
 * const supervised = (template: ChatTemplate.ChatTemplate) => TemplateRenderer.make(template)
 */
import * as Effect from "effect/Effect"
import * as Message from "../chat/Message.ts"
import {
  type GenerationOptions,
  type Parsed,
  type Renderer,
  RendererError,
  type TrainOnWhat
} from "../chat/Renderer.ts"
import type { Tokenizer } from "../chat/Tokenizer.ts"
import * as ModelInput from "../model/ModelInput.ts"
import type * as Sampling from "../model/Sampling.ts"
import type { MakeReader } from "./DeltaSink.ts"

/** Tokens, or an image at this position. Text from separate pieces is never tokenized together. */
export type Piece = Int32Array | ModelInput.Image

/** One message as tokens and images: its header, its output and, for some families, the beginning of the next header. */
export interface RenderedMessage {
  /** Tokens that introduce the turn. */
  readonly header: Int32Array
  /** The message and its end of turn; for an assistant, the part that the model generates. */
  readonly output: ReadonlyArray<Piece>
  /** Tokens of the stop that otherwise belong to the next message's header; written only after the last message of an example. */
  readonly stopOverlap?: Int32Array
}

/** The position of a message in its conversation. */
export interface Place {
  readonly messages: ReadonlyArray<Message.Message>
  readonly index: number
  readonly isLast: boolean
  readonly previous: Message.Message | undefined
  readonly next: Message.Message | undefined
  /** Index of the last user message; −1 if there is none. */
  readonly lastUserIndex: number
  /** Whether the message belongs to the turn that the model is asked to write. */
  readonly isInLastTurn: boolean
}

/** One of the examples that a conversation is split into. */
export interface Cut {
  /** The example has the messages before this index. */
  readonly end: number
  readonly trainOnWhat: TrainOnWhat
}

/** Splits a conversation into several examples; `undefined` if the mode cannot be split. */
export type Split = (
  messages: ReadonlyArray<Message.Message>,
  trainOnWhat: TrainOnWhat
) => ReadonlyArray<Cut> | undefined

/** The parts from which `TemplateRenderer` builds a renderer. */
export interface ChatTemplate {
  readonly name: string
  readonly tokenizer: Tokenizer
  readonly stop: Sampling.Stop
  readonly hasExtensionProperty: boolean
  /** Whether the prompt closes the thinking block; then a trained turn may not contain reasoning. */
  readonly disablesThinking: boolean
  /** Tokens before the first message. */
  readonly beginning: Int32Array
  /** Changes the conversation before it is rendered, for example by adding a default system message. */
  readonly prepare?: (
    messages: ReadonlyArray<Message.Message>
  ) => Effect.Effect<ReadonlyArray<Message.Message>, RendererError>
  /** Index of the first message of the last turn. Default: the message after the last user message. */
  readonly turnStart?: (messages: ReadonlyArray<Message.Message>) => number
  readonly message: (message: Message.Message, place: Place) => Effect.Effect<RenderedMessage, RendererError>
  /** Tokens that introduce the turn to generate; `place` is the position after the last message. */
  readonly generationHeader: (role: string, place: Place) => Effect.Effect<Int32Array, RendererError>
  /** The start of the response: the template's own prefill, followed by the caller's. */
  readonly prefill?: (given: string, previous: Message.Message | undefined) => string
  /** Splits a conversation for training. Default: one example per trained assistant message. */
  readonly split?: Split
  readonly parse: (tokens: Int32Array) => Effect.Effect<Parsed, RendererError>
  /** Makes a reader for a streamed response to this conversation. Default: the message is parsed once, at its end. */
  readonly reader?: (conversation: ReadonlyArray<Message.Message>) => MakeReader
  readonly toolsPrefix?: Renderer["toolsPrefix"]
  readonly calls?: Renderer["calls"]
}

const toChunk = (piece: Piece): ModelInput.Chunk =>
  piece instanceof Int32Array ? { _tag: "EncodedText", tokens: piece } : piece

/** The pieces as a model input. */
export const toInput = (pieces: ReadonlyArray<Piece>): ModelInput.ModelInput =>
  ModelInput.fromChunks(pieces.map(toChunk))

/** Index of the message after the last user message. */
const afterLastUser = (messages: ReadonlyArray<Message.Message>) => Message.lastUserIndex(messages) + 1

/** Index of the first message of the last turn. */
export const turnStart = (template: ChatTemplate, messages: ReadonlyArray<Message.Message>): number =>
  (template.turnStart ?? afterLastUser)(messages)

/** The places in a conversation whose last turn starts at index `start`. */
const placesOf = (messages: ReadonlyArray<Message.Message>, start: number) => {
  const lastUserIndex = Message.lastUserIndex(messages)
  return (index: number): Place => ({
    messages,
    index,
    isLast: index >= messages.length - 1,
    previous: messages[index - 1],
    next: messages[index + 1],
    lastUserIndex,
    isInLastTurn: index >= start
  })
}

/** Renders the messages in order; the last turn starts at index `start`. */
export const renderAll = Effect.fnUntraced(function*(
  template: ChatTemplate,
  messages: ReadonlyArray<Message.Message>,
  start: number
): Effect.fn.Return<ReadonlyArray<RenderedMessage>, RendererError> {
  const placeAt = placesOf(messages, start)
  const rendered: Array<RenderedMessage> = []
  for (const [index, message] of messages.entries()) rendered.push(yield* template.message(message, placeAt(index)))
  return rendered
})

/** The messages after the template's own changes. */
export const prepare = (
  template: ChatTemplate,
  messages: ReadonlyArray<Message.Message>
): Effect.Effect<ReadonlyArray<Message.Message>, RendererError> =>
  template.prepare === undefined ? Effect.succeed(messages) : template.prepare(messages)

/** The prompt of a conversation that `prepare` has already changed. */
export const promptPieces = Effect.fnUntraced(function*(
  template: ChatTemplate,
  messages: ReadonlyArray<Message.Message>,
  options: GenerationOptions
): Effect.fn.Return<ReadonlyArray<Piece>, RendererError> {
  const rendered = yield* renderAll(template, messages, turnStart(template, messages))
  const place = placesOf(messages, 0)(messages.length)
  const given = options.prefill ?? ""
  const prefill = template.prefill === undefined ? given : template.prefill(given, messages.at(-1))
  return [
    template.beginning,
    ...rendered.flatMap(({ header, output }) => [header, ...output]),
    yield* template.generationHeader(options.role ?? "assistant", place),
    template.tokenizer.encode(prefill)
  ]
})

/** The message's text. Fails if its content is anything but one text. */
export const onlyText = (renderer: string, message: Message.Message): Effect.Effect<string, RendererError> => {
  const parts = Message.parts(message)
  const [part] = parts
  if (parts.length === 1 && part?.type === "text") return Effect.succeed(part.text)
  const found = parts.map((part) => part.type).join(", ") || "no parts"
  return Effect.fail(
    new RendererError({ renderer, detail: `a message of role "${message.role}" has ${found}, expected one text` })
  )
}

/** The error for a role that the family does not support. */
export const refuseRole = (renderer: string, role: string): RendererError =>
  new RendererError({ renderer, detail: `the model knows no role "${role}", only system, user, assistant and tool` })

/** The error for a content part that the family does not support. */
export const refusePart = (renderer: string, role: string, type: string): RendererError =>
  new RendererError({
    renderer,
    detail: `a message of role "${role}" has a part of type "${type}", which the model cannot read`
  })
