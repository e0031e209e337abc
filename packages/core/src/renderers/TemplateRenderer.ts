/** Builds a renderer from a `ChatTemplate`. */
import * as Effect from "effect/Effect"
import * as Message from "../chat/Message.ts"
import type { ToolCall } from "../chat/Message.ts"
import type { Parsed, Renderer } from "../chat/Renderer.ts"
import type { Delta, ResponseStream } from "../chat/ResponseStream.ts"
import type { Tokenizer } from "../chat/Tokenizer.ts"
import * as TokenText from "../chat/TokenText.ts"
import type * as Sampling from "../model/Sampling.ts"
import * as ChatTemplate from "./ChatTemplate.ts"
import * as DeltaSink from "./DeltaSink.ts"
import type { MakeReader } from "./DeltaSink.ts"
import * as Supervision from "./Supervision.ts"

const sameCall = (left: ToolCall, right: ToolCall) =>
  left.id === right.id && left.function.name === right.function.name
  && left.function.arguments === right.function.arguments

/** The parts and calls of the message that were not emitted yet; all of them if nothing was read while streaming. */
const remaining = (parsed: Parsed, told: ReadonlyArray<Delta>, isRead: boolean): ReadonlyArray<Delta> => {
  const { toolCalls = [], unparsedToolCalls = [] } = parsed.message
  const calls = told.flatMap((delta) => delta._tag === "ToolCall" ? [delta.toolCall] : [])
  const broken = told.flatMap((delta) => delta._tag === "UnparsedToolCall" ? [delta.unparsedToolCall.rawText] : [])
  const parts = Message.parts(parsed.message).flatMap((content, part): ReadonlyArray<Delta> => {
    if (isRead || content.type === "image") return []
    return content.type === "text"
      ? [{ _tag: "Text", part, text: content.text }]
      : [{ _tag: "Thinking", part, thinking: content.thinking }]
  })
  return [
    ...parts,
    ...toolCalls
      .filter((call) => !calls.some((each) => sameCall(each, call)))
      .map((toolCall): Delta => ({ _tag: "ToolCall", toolCall })),
    ...unparsedToolCalls
      .filter(({ rawText }) => !broken.includes(rawText))
      .map((unparsedToolCall): Delta => ({ _tag: "UnparsedToolCall", unparsedToolCall }))
  ]
}

const noReader: MakeReader = () => ({ write: () => {}, end: () => {} })

/** The parts of a template that are needed to read a response while it streams. */
export interface Streaming {
  readonly tokenizer: Tokenizer
  readonly stop: Sampling.Stop
  readonly parse: Renderer["parse"]
  /** Default: the message is parsed once, at its end. */
  readonly reader?: MakeReader | undefined
}

/** Reads a response while its tokens arrive. */
export const stream = (template: Streaming): ResponseStream => {
  const stops: ReadonlyArray<string | number> = template.stop
  const isStop = (token: number) => stops.includes(token)
  const sink = DeltaSink.make()
  const reader = (template.reader ?? noReader)(sink)
  const text = TokenText.make(template.tokenizer)
  const tokens: Array<number> = []
  const told: Array<Delta> = []
  let isStopped = false
  const take = () => {
    const deltas = sink.take()
    told.push(...deltas.filter(({ _tag }) => _tag === "ToolCall" || _tag === "UnparsedToolCall"))
    return deltas
  }
  return {
    push: (given) => {
      const chunk = Array.from(given)
      const at = chunk.findIndex(isStop)
      tokens.push(...chunk)
      if (!isStopped) reader.write(text.push(at === -1 ? chunk : chunk.slice(0, at)))
      isStopped ||= at !== -1
      return take()
    },
    end: Effect.suspend(() => {
      reader.write(text.end())
      reader.end()
      const deltas = take()
      return Effect.map(template.parse(Int32Array.from(tokens)), (parsed) => ({
        deltas: [...deltas, ...remaining(parsed, told, template.reader !== undefined)],
        parsed
      }))
    })
  }
}

/**
 * Builds the renderer of a template.
 *
 * @example
 * const terse = (template: ChatTemplate.ChatTemplate) => TemplateRenderer.make({ ...template, name: "terse" })
 */
export const make = (template: ChatTemplate.ChatTemplate): Renderer => ({
  name: template.name,
  stop: template.stop,
  hasExtensionProperty: template.hasExtensionProperty,
  generationPrompt: (messages, options = {}) =>
    ChatTemplate.prepare(template, messages).pipe(
      Effect.flatMap((prepared) => ChatTemplate.promptPieces(template, prepared, options)),
      Effect.map(ChatTemplate.toInput)
    ),
  parse: template.parse,
  stream: (conversation) => stream({ ...template, reader: template.reader?.(conversation) }),
  supervisedExample: (messages, trainOnWhat) => Supervision.example(template, messages, trainOnWhat),
  supervisedExamples: (messages, trainOnWhat) => Supervision.examples(template, messages, trainOnWhat),
  ...(template.toolsPrefix === undefined ? {} : { toolsPrefix: template.toolsPrefix }),
  ...(template.calls === undefined ? {} : { calls: template.calls })
})
