/**
 * Turns conversations into prompts that a sampler can answer, with the means to read the replies.
 *
 * @example
 * const asked: Answerer.Asked = { messages: [Message.user("What is 2 + 2?")], tools: [] }
 * const prompted = (source: PromptedChat.Source) => PromptedChat.prompted(source, asked, { stops: [] })
 */
import { type ChatModel, Message } from "@effect-rl/core"
import { ModelInput, type Sampling } from "@effect-rl/core/backend"
import { HeldResponse, Renderer, Renderers, type Tokenizer, type ToolSpec } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import type { Asked, Continuing, Prompted, Request, Settings } from "./Answerer.ts"
import * as CallNames from "./CallNames.ts"
import * as Continued from "./Continued.ts"
import * as Length from "./Length.ts"
import * as PlainReader from "./PlainReader.ts"
import { invalid, tooLong } from "./Refusal.ts"

/** Weights with their tokenizer and renderer. */
export type Source = Pick<Prompted, "id" | "chatModel" | "sample" | "replied">

const knowsTools = ({ renderer: { name, toolsPrefix } }: ChatModel.ChatModel, { tools }: Asked) =>
  tools.length === 0 || toolsPrefix !== undefined
    ? Effect.void
    : Effect.fail(invalid(`tools: the renderer ${name} has none, expected no tools for this model`, "tools"))

/** Renderers by name, which keep the tokens of texts that they have rendered. */
const renderers = new WeakMap<Tokenizer.Tokenizer, Map<string, Renderer.Renderer>>()

const rendererOf = (name: string, tokenizer: Tokenizer.Tokenizer) => {
  const known = renderers.get(tokenizer) ?? new Map<string, Renderer.Renderer>()
  renderers.set(tokenizer, known)
  const found = known.get(name)
  return found === undefined
    ? Effect.tap(Renderers.byName(name, tokenizer), (made) => Effect.sync(() => known.set(name, made)))
    : Effect.succeed(found)
}

/** The model with the renderer that the request selects. Fails if there is no renderer of that name. */
export const inMode = (
  chatModel: ChatModel.ChatModel,
  { renderer: name }: Asked
): Effect.Effect<ChatModel.ChatModel, Renderer.RendererError> =>
  name === undefined
    ? Effect.succeed(chatModel)
    : Effect.map(rendererOf(name, chatModel.tokenizer), (renderer) => ({ ...chatModel, renderer }))

/** Number of tool descriptions to keep for each renderer. */
const mostDescriptions = 64

/** Messages that describe tools, by the JSON of the tools and the system prompt. Clients send the same tools with each request. */
const descriptions = new WeakMap<Renderer.Renderer, Map<string, Renderer.Offering>>()

const described = Effect.fnUntraced(function*(
  renderer: Renderer.Renderer,
  tools: Asked["tools"],
  system: ReadonlyArray<Message.Message>
) {
  const known = descriptions.get(renderer) ?? new Map<string, Renderer.Offering>()
  descriptions.set(renderer, known)
  const key = JSON.stringify([tools, system.map(Message.text)])
  const found = known.get(key)
  if (found !== undefined) return found
  const offering = yield* Renderer.offering(renderer, tools, system)
  for (const oldest of known.keys()) {
    if (known.size < mostDescriptions) break
    known.delete(oldest)
  }
  known.set(key, offering)
  return offering
})

/** The conversation after the messages that describe the tools, which include its system message. */
const withTools = Effect.fnUntraced(function*(
  { renderer }: ChatModel.ChatModel,
  tools: Asked["tools"],
  conversation: ReadonlyArray<Message.Message>
): Effect.fn.Return<Renderer.Offering, Renderer.RendererError> {
  if (tools.length === 0) return { messages: conversation }
  const length = conversation[0]?.role === "system" ? 1 : 0
  const { messages, ...offering } = yield* described(renderer, tools, conversation.slice(0, length))
  return { ...offering, messages: [...messages, ...conversation.slice(length)] }
})

/** A conversation before its reply, ready to render. */
export interface Conversation {
  readonly chatModel: ChatModel.ChatModel
  /** The messages, including those that describe the tools. */
  readonly messages: ReadonlyArray<Message.Message>
  /** The tools that the first messages describe; absent if there are none. */
  readonly offered?: ToolSpec.Offered
  /** The beginning of the reply; empty for a new reply. */
  readonly prefill: string
}

const unreadable = ({ message }: Renderer.RendererError) => Effect.fail(invalid(`messages: ${message}`, "messages"))

/**
 * The conversation of a request. Fails if the conversation is too long for the model, has tools although the model supports none, or ends
 * with an assistant message that contains more than text.
 */
export const conversation = Effect.fnUntraced(function*(own: ChatModel.ChatModel, asked: Asked) {
  const chatModel = yield* inMode(own, asked)
  yield* Length.check(chatModel, "messages and tools", Length.of(asked))
  yield* knowsTools(chatModel, asked)
  const { before, prefill } = yield* Continued.divide(asked.messages)
  const offering = yield* withTools(chatModel, asked.tools, before)
  const found: Conversation = { chatModel, ...offering, prefill }
  return found
}, Effect.catchTag("RendererError", unreadable))

/** A conversation and its prompt. */
export interface Rendered extends Omit<Conversation, "prefill"> {
  readonly prompt: ModelInput.ModelInput
}

/** Renders the conversation to a prompt, which may include the beginning of the reply. */
export const render = Effect.fnUntraced(function*(own: ChatModel.ChatModel, asked: Asked) {
  const { chatModel, messages, prefill } = yield* conversation(own, asked)
  const prompt = yield* chatModel.renderer.generationPrompt(messages, { prefill })
  yield* Continued.check(chatModel, messages, prefill, prompt)
  const rendered: Rendered = { chatModel, messages, prompt }
  return rendered
}, Effect.catchTag("RendererError", unreadable))

const hasTopLogprobs = ({ capabilities: { topkPromptLogprobs: most }, name }: ChatModel.ChatModel, asked: number) =>
  asked <= most
    ? Effect.void
    : Effect.fail(invalid(`top_logprobs is ${asked}, expected at most ${most} of ${name}`, "top_logprobs"))

/** The sampling request. Fails if the prompt leaves no room for a reply, or if more `topLogprobs` are requested than the model supports. */
export const request = Effect.fnUntraced(function*(
  chatModel: ChatModel.ChatModel,
  prompt: ModelInput.ModelInput,
  stop: Sampling.Stop | undefined,
  { choices, grammar, maxTokens, seed, temperature, topK, topLogprobs, topP }: Settings
) {
  const { capabilities: { contextLength }, name } = chatModel
  const left = contextLength - prompt.length
  if (left < 1) {
    const detail =
      `the prompt has ${prompt.length} tokens, expected fewer than ${contextLength}, the maximum context length of ${name}`
    return yield* tooLong(detail, prompt.length, contextLength)
  }
  yield* hasTopLogprobs(chatModel, topLogprobs ?? 0)
  return {
    prompt,
    numSamples: choices ?? 1,
    topkSampleLogprobs: topLogprobs ?? 0,
    ...(grammar !== undefined && { grammar }),
    params: {
      maxTokens: Math.min(maxTokens ?? left, left),
      ...(stop !== undefined && { stop }),
      ...(typeof temperature === "number" && { temperature }),
      ...(typeof topP === "number" && { topP }),
      ...(typeof topK === "number" && { topK }),
      ...(typeof seed === "number" && { seed })
    }
  } satisfies Request
})

/** A rendered conversation. The reply ends at the renderer's stops or at the client's stop texts. */
export const of = Effect.fnUntraced(function*(
  source: Omit<Source, "chatModel">,
  { chatModel, messages, prompt }: Rendered,
  settings: Settings
) {
  const { renderer } = chatModel
  const asking = yield* request(chatModel, prompt, renderer.stop, settings)
  return {
    ...source,
    chatModel,
    request: asking,
    stops: settings.stops,
    isOneCall: settings.isOneCall ?? false,
    parse: renderer.parse,
    read: () => renderer.stream(messages),
    closing: HeldResponse.closing(chatModel),
    callNames: CallNames.make(messages, asking, source.id)
  } satisfies Prompted
})

/** Renders the conversation to a prompt that is ready to be sampled from. */
export const prompted = Effect.fnUntraced(function*(source: Source, asked: Asked, settings: Settings) {
  return yield* of(source, yield* render(source.chatModel, asked), settings)
})

const promptOf = Effect.fnUntraced(function*(chatModel: ChatModel.ChatModel, prompt: Continuing) {
  if (typeof prompt !== "string") return ModelInput.fromTokens(prompt)
  yield* Length.check(chatModel, "prompt", prompt.length)
  return ModelInput.fromTokens(chatModel.tokenizer.encode(prompt))
})

/** A continuation of text or tokens. The continuation ends at the model's end-of-text token or at the client's stop texts. */
export const continued = Effect.fnUntraced(function*(
  source: Source,
  prompt: Continuing,
  settings: Settings
) {
  const { chatModel, id } = source
  const asking = yield* request(chatModel, yield* promptOf(chatModel, prompt), undefined, settings)
  return {
    ...source,
    request: asking,
    stops: settings.stops,
    isOneCall: false,
    parse: (tokens) => Effect.succeed(PlainReader.parse(chatModel.tokenizer, tokens)),
    read: () => PlainReader.make(chatModel.tokenizer),
    closing: new Int32Array(0),
    callNames: CallNames.make([], asking, id)
  } satisfies Prompted
})
