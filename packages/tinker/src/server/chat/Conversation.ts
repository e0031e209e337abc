/** A request of a chat client on its way to a sampler: weights, prompt, and how to sample and read the reply. */
import type { ChatModel, Message } from "@effect-rl/core"
import { ModelInput, type Sampling } from "@effect-rl/core/backend"
import { Renderer, type ResponseStream, type ToolSpec } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as Cost from "../Cost.ts"
import type { Parts } from "../Parts.ts"
import { badRequest, invalid } from "../Refusal.ts"
import * as SamplingRoutes from "../SamplingRoutes.ts"
import type { Sampler } from "../Session.ts"
import * as CallNames from "./CallNames.ts"
import * as Continued from "./Continued.ts"
import * as Length from "./Length.ts"
import * as PlainReader from "./PlainReader.ts"

/** Sampling options that every client can send; those that are absent or null are left to the sampler. */
export interface Settings {
  readonly maxTokens?: number | null | undefined
  readonly temperature?: number | null | undefined
  readonly topP?: number | null | undefined
  readonly topK?: number | null | undefined
  readonly seed?: number | null | undefined
  /** Replies; one unless given. */
  readonly choices?: number | null | undefined
  /** The most likely tokens to show at each sampled position. */
  readonly topLogprobs?: number | null | undefined
  /** Texts at which a reply ends. */
  readonly stops: ReadonlyArray<string>
}

export interface Asked {
  readonly messages: ReadonlyArray<Message.Message>
  readonly tools: ReadonlyArray<ToolSpec.ToolSpec>
}

/** Weights, and the tokenizer and renderer that go with them. */
export interface Source {
  readonly sampler: Sampler
  readonly chatModel: ChatModel.ChatModel
}

type Request = Sampling.SampleRequest & Required<Pick<Sampling.SampleRequest, "numSamples" | "topkSampleLogprobs">>

/** A prompt whose reply can be sampled. */
export interface Prompted {
  readonly source: Source
  readonly request: Request
  readonly stops: ReadonlyArray<string>
  /** A new reader of one reply. */
  readonly read: () => ResponseStream.ResponseStream
  /** The stop of a reply that ended at the client's own text. */
  readonly closing: Int32Array
  /** Names for the calls of tools in a reply, by its number. */
  readonly callNames: (reply: number) => CallNames.CallNames
}

/** A base model, a checkpoint's path, or `<base model>;<path>`. */
const named = (model: string) => {
  const at = model.indexOf(";")
  if (at >= 0) return { base_model: model.slice(0, at), model_path: model.slice(at + 1) }
  return model.includes("://") ? { model_path: model } : { base_model: model }
}

/** The tokenizer and renderer of the weights that the request names by its `model`. */
export const chatModel = Effect.fnUntraced(function*(parts: Parts, model: string) {
  const { baseModel } = yield* SamplingRoutes.sourceOf(parts, named(model))
  return yield* parts.chatModel(baseModel)
})

const source = Effect.fnUntraced(function*(parts: Parts, model: string) {
  yield* SamplingRoutes.enter(parts)
  const sampler = yield* SamplingRoutes.samplerOf(parts, named(model))
  return { sampler, chatModel: yield* parts.chatModel(sampler.baseModel) } satisfies Source
})

const knowsTools = ({ renderer: { name, toolsPrefix } }: ChatModel.ChatModel, { tools }: Asked) =>
  tools.length === 0 || toolsPrefix !== undefined
    ? Effect.void
    : Effect.fail(invalid(`tools: the renderer ${name} has none, expected no tools for this model`))

/** The conversation before the reply as it is rendered, with its tools, and the prompt, which may begin the reply. */
export const render = Effect.fnUntraced(function*(chatModel: ChatModel.ChatModel, asked: Asked) {
  yield* Length.check(chatModel, "messages and tools", Length.of(asked))
  yield* knowsTools(chatModel, asked)
  const { before, prefill } = yield* Continued.divide(asked.messages)
  const messages = yield* Renderer.withTools(chatModel.renderer, asked.tools, before)
  const prompt = yield* chatModel.renderer.generationPrompt(messages, { prefill })
  yield* Continued.check(chatModel, messages, prefill, prompt)
  return { messages, prompt }
}, Effect.catchTag("RendererError", (error) => Effect.fail(invalid(`messages: ${error.message}`))))

const hasTopLogprobs = ({ capabilities: { topkPromptLogprobs: most }, name }: ChatModel.ChatModel, asked: number) =>
  asked <= most
    ? Effect.void
    : Effect.fail(invalid(`top_logprobs is ${asked}, expected at most ${most} of ${name}`))

/** The request of a sampler; fails where nothing fits after the prompt, or where the cost exceeds a limit. */
const requestOf = Effect.fnUntraced(function*(
  { chatModel }: Source,
  prompt: ModelInput.ModelInput,
  stop: Sampling.Stop | undefined,
  { choices, maxTokens, seed, temperature, topK, topLogprobs, topP }: Settings
) {
  const { capabilities: { contextLength }, name } = chatModel
  const left = contextLength - prompt.length
  if (left < 1) {
    return yield* badRequest(`the prompt has ${prompt.length} tokens, expected fewer than ${contextLength} of ${name}`)
  }
  yield* hasTopLogprobs(chatModel, topLogprobs ?? 0)
  return {
    prompt,
    numSamples: choices ?? 1,
    topkSampleLogprobs: topLogprobs ?? 0,
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

/** Counts the reply among the requests under way, with the tokens that it may take, until the response is sent. */
const hold = Effect.fnUntraced(
  function*({ futures }: Parts, { sampler }: Source, request: Request, stops: Settings["stops"]) {
    yield* Cost.stops("stop", stops)
    const tokens = yield* Cost.of({
      field: "n",
      samples: request.numSamples,
      promptLength: request.prompt.length,
      maxTokens: request.params.maxTokens,
      topkSampleLogprobs: request.topkSampleLogprobs
    })
    yield* Effect.acquireRelease(
      futures.begin({ work: Effect.never, tokens, scope: sampler.scope }),
      (id) => Effect.andThen(Effect.ignore(futures.cancel(id)), futures.forget(id))
    )
  }
)

const closingOf = ({ renderer: { stop }, tokenizer }: ChatModel.ChatModel) => {
  const [first] = stop
  if (first === undefined) return new Int32Array(0)
  return typeof first === "string" ? tokenizer.encode(first) : Int32Array.of(first)
}

/** Finds the weights, renders the conversation and makes room for its reply. */
export const prompted = Effect.fnUntraced(function*(parts: Parts, model: string, asked: Asked, settings: Settings) {
  const found = yield* source(parts, model)
  const { messages, prompt } = yield* render(found.chatModel, asked)
  const { renderer } = found.chatModel
  const request = yield* requestOf(found, prompt, renderer.stop, settings)
  yield* hold(parts, found, request, settings.stops)
  return {
    source: found,
    request,
    stops: settings.stops,
    read: () => renderer.stream(messages),
    closing: closingOf(found.chatModel),
    callNames: CallNames.make(messages, request, parts.uniqueId())
  } satisfies Prompted
})

const promptOf = Effect.fnUntraced(function*(chatModel: ChatModel.ChatModel, prompt: string | ReadonlyArray<number>) {
  if (typeof prompt !== "string") return ModelInput.fromTokens(prompt)
  yield* Length.check(chatModel, "prompt", prompt.length)
  return ModelInput.fromTokens(chatModel.tokenizer.encode(prompt))
})

/** Finds the weights and makes room for a continuation of text or of tokens, which the model's own end of text ends. */
export const continued = Effect.fnUntraced(function*(
  parts: Parts,
  model: string,
  prompt: string | ReadonlyArray<number>,
  settings: Settings
) {
  const found = yield* source(parts, model)
  const request = yield* requestOf(found, yield* promptOf(found.chatModel, prompt), undefined, settings)
  yield* hold(parts, found, request, settings.stops)
  return {
    source: found,
    request,
    stops: settings.stops,
    read: () => PlainReader.make(found.chatModel.tokenizer),
    closing: new Int32Array(0),
    callNames: CallNames.make([], request, parts.uniqueId())
  } satisfies Prompted
})
