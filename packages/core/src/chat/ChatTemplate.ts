/** What one model family writes around messages; everything a renderer does follows from it. */
import * as Effect from "effect/Effect"
import * as ModelInput from "../model/ModelInput.ts"
import type * as Sampling from "../model/Sampling.ts"
import * as Message from "./Message.ts"
import {
  type GenerationOptions,
  type Parsed,
  type Renderer,
  RendererError,
  type SupervisedExample,
  type TrainOnWhat
} from "./Renderer.ts"
import type { Tokenizer } from "./Tokenizer.ts"

/** One message as tokens; each array is tokenized on its own, so joined text never tokenizes across them. */
export interface RenderedMessage {
  /** What introduces the turn. */
  readonly header: Int32Array
  /** What the model would write, its end of turn included. */
  readonly output: ReadonlyArray<Int32Array>
  /** What of the stop also introduces the next message; written only after the last message of an example. */
  readonly stopOverlap?: Int32Array
}

/** Where a message stands in its conversation. */
export interface Place {
  readonly index: number
  readonly isLast: boolean
  readonly previous: Message.Message | undefined
  readonly next: Message.Message | undefined
  /** −1 where there is no user message. */
  readonly lastUserIndex: number
}

export interface ChatTemplate {
  readonly name: string
  readonly tokenizer: Tokenizer
  readonly stop: Sampling.Stop
  readonly hasExtensionProperty: boolean
  /** The prompt closes the thinking block, so no trained turn may reason. */
  readonly disablesThinking: boolean
  /** Tokens before the first message. */
  readonly beginning: Int32Array
  readonly message: (message: Message.Message, place: Place) => Effect.Effect<RenderedMessage, RendererError>
  /** What introduces the turn to generate. */
  readonly generationHeader: (role: string, isFirst: boolean) => Int32Array
  readonly parse: (tokens: Int32Array) => Effect.Effect<Parsed, RendererError>
  readonly toolsPrefix?: Renderer["toolsPrefix"]
}

const toInput = (chunks: ReadonlyArray<Int32Array>): ModelInput.ModelInput =>
  ModelInput.fromChunks(chunks.map((tokens) => ({ _tag: "EncodedText", tokens })))

const placeOf = (messages: ReadonlyArray<Message.Message>, index: number): Place => ({
  index,
  isLast: index === messages.length - 1,
  previous: messages[index - 1],
  next: messages[index + 1],
  lastUserIndex: Message.lastUserIndex(messages)
})

const renderAll = (template: ChatTemplate, messages: ReadonlyArray<Message.Message>) =>
  Effect.forEach(messages, (message, index) => template.message(message, placeOf(messages, index)))

const promptChunks = Effect.fnUntraced(function*(
  template: ChatTemplate,
  messages: ReadonlyArray<Message.Message>,
  options: GenerationOptions
) {
  const rendered = yield* renderAll(template, messages)
  return [
    template.beginning,
    ...rendered.flatMap(({ header, output }) => [header, ...output]),
    template.generationHeader(options.role ?? "assistant", messages.length === 0),
    template.tokenizer.encode(options.prefill ?? "")
  ]
})

/** Whether the model's side of the message is trained. A turn starts after the last user message before the end. */
const isTrained = (
  messages: ReadonlyArray<Message.Message>,
  index: number,
  trainOnWhat: TrainOnWhat
): boolean => {
  const message = messages[index]
  switch (trainOnWhat) {
    case "last_assistant_message":
      return index === messages.length - 1 && message?.role === "assistant"
    case "last_assistant_turn":
      return message?.role === "assistant" && index > Message.lastUserIndex(messages.slice(0, -1))
    case "all_assistant_messages":
      return message?.role === "assistant"
    case "all_messages":
    case "all_tokens":
      return true
    case "all_user_and_system_messages":
      return message?.role === "user" || message?.role === "system"
    case "customized":
      return message?.trainable === true
  }
}

/** Index of the message whose generation prompt must carry no weight. */
const boundary = (messages: ReadonlyArray<Message.Message>, trainOnWhat: TrainOnWhat): number | undefined => {
  const index = trainOnWhat === "last_assistant_message"
    ? messages.length - 1
    : trainOnWhat === "last_assistant_turn"
    ? Message.lastUserIndex(messages) + 1
    : -1
  return messages[index]?.role === "assistant" ? index : undefined
}

const startsWith = (tokens: Int32Array, prefix: Int32Array) =>
  prefix.length <= tokens.length && prefix.every((token, index) => token === tokens[index])

const checkTrainable = (
  template: ChatTemplate,
  messages: ReadonlyArray<Message.Message>,
  trainOnWhat: TrainOnWhat
): Effect.Effect<void, RendererError> => {
  const wanted = trainOnWhat === "customized"
  const index = messages.findIndex((message) => (message.trainable !== undefined) !== wanted)
  if (index === -1) return Effect.void
  const detail = wanted
    ? `message ${index} has no "trainable"; "customized" needs it on every message`
    : `message ${index} has "trainable", which only "customized" reads, not "${trainOnWhat}"`
  return Effect.fail(new RendererError({ renderer: template.name, detail }))
}

interface Weighted {
  readonly tokens: Int32Array
  readonly weight: number
}

const weigh = Effect.fnUntraced(function*(
  template: ChatTemplate,
  messages: ReadonlyArray<Message.Message>,
  trainOnWhat: TrainOnWhat
) {
  const rendered = yield* renderAll(template, messages)
  const weighted: Array<Weighted> = [{ tokens: template.beginning, weight: 0 }]
  for (const [index, { header, output, stopOverlap }] of rendered.entries()) {
    const weight = Number(isTrained(messages, index, trainOnWhat))
    weighted.push({ tokens: header, weight: Number(trainOnWhat === "all_tokens") })
    for (const tokens of output) weighted.push({ tokens, weight })
    if (index === messages.length - 1 && stopOverlap !== undefined) weighted.push({ tokens: stopOverlap, weight })
  }
  return weighted
})

const join = (arrays: ReadonlyArray<Int32Array>): Int32Array => Int32Array.from(arrays.flatMap((array) => [...array]))

/** Takes the weight off the generation prompt, or refuses a reasoning turn behind a prompt that forbids it. */
const trainAfterPrompt = Effect.fnUntraced(function*(
  template: ChatTemplate,
  messages: ReadonlyArray<Message.Message>,
  tokens: Int32Array,
  weights: Float32Array,
  index: number
) {
  const prompt = join(yield* promptChunks(template, messages.slice(0, index), {}))
  if (startsWith(tokens, prompt)) {
    weights.fill(0, 0, prompt.length)
  } else if (template.disablesThinking) {
    const detail = `message ${index} does not begin as its prompt does: thinking is off, but this turn reasons`
    return yield* new RendererError({ renderer: template.name, detail })
  }
})

const supervisedExample = Effect.fnUntraced(function*(
  template: ChatTemplate,
  messages: ReadonlyArray<Message.Message>,
  trainOnWhat: TrainOnWhat
) {
  yield* checkTrainable(template, messages, trainOnWhat)
  const weighted = yield* weigh(template, messages, trainOnWhat)
  const tokens = join(weighted.map((chunk) => chunk.tokens))
  const weights = Float32Array.from(weighted.flatMap((chunk) => Array<number>(chunk.tokens.length).fill(chunk.weight)))
  const index = boundary(messages, trainOnWhat)
  if (index !== undefined) yield* trainAfterPrompt(template, messages, tokens, weights, index)
  return { input: toInput(weighted.map((chunk) => chunk.tokens)), weights } satisfies SupervisedExample
})

/** The message's only text, for families that know nothing else. */
export const onlyText = (renderer: string, message: Message.Message): Effect.Effect<string, RendererError> => {
  const parts = Message.parts(message)
  const [part] = parts
  if (parts.length === 1 && part?.type === "text") return Effect.succeed(part.text)
  const found = parts.map((part) => part.type).join(", ") || "no parts"
  return Effect.fail(
    new RendererError({ renderer, detail: `a message of role "${message.role}" has ${found}, expected one text` })
  )
}

/** The renderer of a family. */
export const toRenderer = (template: ChatTemplate): Renderer => ({
  name: template.name,
  stop: template.stop,
  hasExtensionProperty: template.hasExtensionProperty,
  generationPrompt: (messages, options = {}) => Effect.map(promptChunks(template, messages, options), toInput),
  parse: template.parse,
  supervisedExample: (messages, trainOnWhat) => supervisedExample(template, messages, trainOnWhat),
  ...(template.toolsPrefix === undefined ? {} : { toolsPrefix: template.toolsPrefix })
})
