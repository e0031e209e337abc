/**
 * TML v0, Inkling's format: every message names its author and its kind, so its rendering does not depend on its position.
 *
 * @example
 * TmlV0.atEffort(0.5)(tokenizer).pipe(Effect.flatMap((renderer) => renderer.generationPrompt(messages)))
 */
import * as Effect from "effect/Effect"
import * as Message from "../../chat/Message.ts"
import {
  type Parsed,
  type Renderer,
  RendererError,
  type SupervisedExample,
  type TrainOnWhat
} from "../../chat/Renderer.ts"
import type { Tokenizer } from "../../chat/Tokenizer.ts"
import * as ModelInput from "../../model/ModelInput.ts"
import * as ImageTokens from "../ImageTokens.ts"
import * as Markup from "../Markup.ts"
import * as Supervision from "../Supervision.ts"
import * as TemplateRenderer from "../TemplateRenderer.ts"
import * as TmlCalls from "./TmlCalls.ts"
import * as Marks from "./TmlMarks.ts"
import * as TmlReader from "./TmlReader.ts"

const name = "tml_v0"

/** The default thinking effort upstream. */
const defaultEffort = 0.9

const refuse = (detail: string) => new RendererError({ renderer: name, detail })

/** Images are cut into patches of 40 by 40 pixels, with one column more than fits into the width. */
const images: ImageTokens.Images = {
  controls: [Marks.image],
  wrap: (pieces) => pieces,
  count: ({ height, width }) => Math.ceil(height / 40) * (Math.floor(width / 40) + 1)
}

type Written = ReadonlyArray<ImageTokens.Written>

const kindOf: Record<Message.ContentPart["type"], string> = {
  text: Marks.text,
  thinking: Marks.thinking,
  image: Marks.image
}

const partText = (part: Message.ContentPart): ImageTokens.Written => {
  if (part.type === "image") return part
  return Markup.plain(part.type === "text" ? part.text : part.thinking)
}

/** The parts to write: empty text beside calls is left out, and a message without parts gets an empty text. */
const partsOf = (message: Message.Message): ReadonlyArray<Message.ContentPart> => {
  const parts = Message.parts(message)
  if ((message.toolCalls ?? []).length > 0) return parts.filter((part) => part.type !== "text" || part.text !== "")
  return parts.length === 0 ? [{ type: "text", text: "" }] : parts
}

interface Format {
  readonly encoder: Markup.Encoder
  readonly declaration: string
}

const write = Effect.fnUntraced(function*(
  { declaration }: Format,
  message: Message.Message
): Effect.fn.Return<Written, RendererError> {
  const { role, toolCalls = [] } = message
  const mark = Marks.roles.get(role)
  if (mark === undefined) {
    return yield* refuse(`the model knows no role "${role}", only system, user, assistant, tool and tool_declare`)
  }
  if (role === "tool_declare") {
    const tools = yield* TmlCalls.declaration(name, Message.text(message))
    return [mark, Markup.plain(role), declaration, Markup.plain(tools), Marks.end]
  }
  const author = Markup.plain(role === "tool" ? message.name ?? "" : "")
  const calls = yield* Effect.forEach(toolCalls, (call) => TmlCalls.write(name, call))
  return [
    ...partsOf(message).flatMap((part) => [mark, author, kindOf[part.type], partText(part), Marks.end]),
    ...calls.flatMap(({ json, name }) => [
      mark,
      Markup.plain(role === "assistant" ? name : ""),
      Marks.call,
      Markup.plain(json),
      Marks.end
    ]),
    ...(role === "assistant" ? [Marks.endOfTurn] : [])
  ]
})

type Messages = ReadonlyArray<Message.Message>

const isSystem = ({ role }: Message.Message) => role === "system" || role === "tool_declare"

/** Adds an untrained message with the thinking effort after the initial system messages. */
const withEffort = (messages: Messages, effort: number): Messages => {
  const first = messages.findIndex((message) => !isSystem(message))
  const text = `Thinking effort level: ${Number(effort.toFixed(2))}`
  return messages.toSpliced(first === -1 ? messages.length : first, 0, { ...Message.system(text), trainable: false })
}

const toTokens = Effect.fnUntraced(function*(format: Format, messages: Messages) {
  const written = yield* Effect.forEach(messages, (message) => write(format, message))
  return yield* ImageTokens.encode(name, images, format.encoder, written.flat())
})

const toInput = (pieces: ReadonlyArray<Int32Array | ModelInput.Image>) =>
  ModelInput.fromChunks(
    pieces.map((piece) => piece instanceof Int32Array ? { _tag: "EncodedText", tokens: piece } : piece)
  )

const lengthOf = (pieces: ReadonlyArray<Int32Array | ModelInput.Image>) => toInput(pieces).length

/** Indices of the trained messages. Unlike in other formats, the last answer need not be the last message. */
const trained = (messages: Messages, trainOnWhat: TrainOnWhat): ReadonlyArray<number> => {
  const start = messages.findLastIndex(({ role }) => role === "user") + 1
  const all = Array.from(messages.keys())
  return trainOnWhat === "last_assistant_message"
    ? all.filter((index) => messages[index]?.role === "assistant").slice(-1)
    : all.filter((index) => Supervision.isTrained(messages, index, start, trainOnWhat))
}

/** Makes one example that ends with the last trained message, or none. Later messages must still be valid. */
const examples = Effect.fnUntraced(function*(
  format: Format,
  effort: number,
  messages: Messages,
  trainOnWhat: TrainOnWhat
): Effect.fn.Return<ReadonlyArray<SupervisedExample>, RendererError> {
  yield* Supervision.checkTrainable(name, messages, trainOnWhat)
  yield* Effect.forEach(messages, (message) => write(format, message), { discard: true })
  const indices = trained(messages, trainOnWhat)
  const last = indices.at(-1)
  if (last === undefined) return []
  const kept = messages.slice(0, last + 1).map((message, index) => ({ ...message, trainable: indices.includes(index) }))
  const given = withEffort(kept, effort)
  const input = toInput(yield* toTokens(format, given))
  const weights = yield* Effect.forEach(given, (message) =>
    Effect.map(toTokens(format, [message]), (pieces) => {
      const weight = Number(trainOnWhat === "all_tokens" || message.trainable === true)
      return Array<number>(lengthOf(pieces)).fill(weight)
    }))
  return [{ input, weights: Float32Array.from(weights.flat()) }]
})

const parse = (tokenizer: Tokenizer, controls: ReadonlyMap<number, string>) => (tokens: Int32Array): Parsed => {
  const pieces: Array<TmlReader.Piece> = []
  let from = 0
  const cut = (to: number) => {
    if (to > from) pieces.push({ text: tokenizer.decode(tokens.subarray(from, to)), isControl: false })
  }
  for (const [at, token] of tokens.entries()) {
    const text = controls.get(token)
    if (text === undefined) continue
    cut(at)
    pieces.push({ text, isControl: true })
    from = at + 1
  }
  cut(tokens.length)
  const read = TmlReader.read(pieces)
  if (read === undefined) return { message: Message.assistant(tokenizer.decode(tokens)), termination: "malformed" }
  return { message: read.message, termination: read.isEnded ? "stop_sequence" : "malformed" }
}

/** Makes a renderer for a thinking effort in [0, 1). Fails for any other effort. */
export const atEffort = (effort: number) =>
  Effect.fnUntraced(function*(tokenizer: Tokenizer): Effect.fn.Return<Renderer, RendererError> {
    if (!(effort >= 0 && effort < 1)) {
      return yield* refuse(`the effort of thinking is ${effort}, expected from 0 to less than 1`)
    }
    const [named, unnamed] = Marks.declarations
    const declaration = tokenizer.specialToken(named) === undefined ? unnamed : named
    const optional = [Marks.error, ...Marks.others]
    const encoder = yield* Markup.encoder(name, tokenizer, [...Marks.needed, declaration], optional)
    const known = [...Marks.needed, declaration, ...optional]
    const controls = new Map(
      known.flatMap((text) => {
        const id = tokenizer.specialToken(text)
        return id === undefined ? [] : [[id, text] as const]
      })
    )
    const format = { encoder, declaration }
    const stop = [encoder.id(Marks.endOfTurn)]
    const read = (tokens: Int32Array) => Effect.sync(() => parse(tokenizer, controls)(tokens))
    return {
      name,
      stop,
      hasExtensionProperty: true,
      generationPrompt: Effect.fnUntraced(function*(messages, { prefill = "", role = "assistant" } = {}) {
        if (role !== "assistant") return yield* refuse(`the next role is "${role}", expected "assistant"`)
        if (prefill !== "") {
          return yield* refuse("a prefill is not a whole message: the model begins each of its messages with a header")
        }
        return toInput(yield* toTokens(format, withEffort(messages, effort)))
      }),
      parse: read,
      stream: () => TemplateRenderer.stream({ tokenizer, stop, parse: read, reader: TmlReader.stream }),
      supervisedExample: Effect.fnUntraced(function*(messages, trainOnWhat) {
        const [example] = yield* examples(format, effort, messages, trainOnWhat)
        return example ?? (yield* refuse(`the conversation has no message that "${trainOnWhat}" trains`))
      }),
      supervisedExamples: (messages, trainOnWhat) => examples(format, effort, messages, trainOnWhat),
      toolsPrefix: (tools, systemPrompt) => Effect.sync(() => TmlCalls.prefix(tools, systemPrompt))
    }
  })

/** The renderer at the default thinking effort, 0.9. @see tinker-cookbook `TmlV0Renderer` */
export const tmlV0 = atEffort(defaultEffort)
