/** A request of a chat client on its way to a sampler: weights, prompt and what is sampled of it. */
import { type ChatModel, Message, ModelInput, type Renderer, type Sampling, type ToolSpec } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Caller } from "../Caller.ts"
import type { Parts } from "../Parts.ts"
import * as PieceSampling from "../PieceSampling.ts"
import { badRequest, fromTinkerError, invalid } from "../Refusal.ts"
import * as SamplingRoutes from "../SamplingRoutes.ts"
import type { Sampler } from "../Sessions.ts"

/** How to sample, as every client can say it. */
export interface Settings {
  readonly maxTokens: number | undefined
  readonly temperature: number | undefined
  readonly topP: number | undefined
  readonly topK: number | undefined
  readonly seed: number | undefined
}

export interface Asked {
  /** A base model, a checkpoint's path, or `<base model>;<path>`. */
  readonly model: string
  readonly messages: ReadonlyArray<Message.Message>
  readonly tools: ReadonlyArray<ToolSpec.ToolSpec>
}

/** Weights, and the tokenizer and renderer that go with them. */
export interface Source {
  readonly sampler: Sampler
  readonly chatModel: ChatModel.ChatModel
}

const named = (model: string) => {
  const at = model.indexOf(";")
  if (at >= 0) return { base_model: model.slice(0, at), model_path: model.slice(at + 1) }
  return model.includes("://") ? { model_path: model } : { base_model: model }
}

/** The weights that the request names by its `model`. */
export const source = Effect.fnUntraced(function*(parts: Parts, model: string) {
  yield* parts.rateLimit.take
  const sampler = yield* SamplingRoutes.samplerOf(parts, named(model))
  const chatModel = yield* parts.chatModel(sampler.baseModel)
  return { sampler, chatModel } satisfies Source
})

const withTools = Effect.fnUntraced(function*(
  { renderer }: ChatModel.ChatModel,
  { messages, tools }: Asked
) {
  if (tools.length === 0) return messages
  if (renderer.toolsPrefix === undefined) {
    return yield* invalid(`tools: the renderer ${renderer.name} has none, expected no tools for this model`)
  }
  const [first, ...others] = messages
  const system = first?.role === "system" ? first : undefined
  const prefix = yield* renderer.toolsPrefix(tools, system === undefined ? "" : Message.text(system))
  return [...prefix, ...(system === undefined ? messages : others)]
})

/** The conversation as it is rendered, with its tools, and its prompt. */
export const render = Effect.fnUntraced(function*({ chatModel }: Source, asked: Asked) {
  const messages = yield* withTools(chatModel, asked)
  const prompt = yield* chatModel.renderer.generationPrompt(messages)
  return { messages, prompt }
}, Effect.catchTag("RendererError", (error) => Effect.fail(invalid(`messages: ${error.message}`))))

/** The request of a sampler; fails where nothing fits behind the prompt. */
export const request = Effect.fnUntraced(function*(
  { chatModel: { capabilities: { contextLength }, name } }: Source,
  prompt: ModelInput.ModelInput,
  stop: Sampling.Stop,
  { maxTokens, seed, temperature, topK, topP }: Settings
) {
  const left = contextLength - prompt.length
  if (left < 1) {
    return yield* badRequest(`the prompt has ${prompt.length} tokens, expected fewer than ${contextLength} of ${name}`)
  }
  return {
    prompt,
    params: {
      maxTokens: Math.min(maxTokens ?? left, left),
      stop,
      ...(temperature === undefined ? {} : { temperature }),
      ...(topP === undefined ? {} : { topP }),
      ...(topK === undefined ? {} : { topK }),
      ...(seed === undefined ? {} : { seed })
    }
  } satisfies Sampling.SampleRequest
})

/** Samples in this caller's turn. */
export const sample = Effect.fnUntraced(function*(
  { sampling }: Parts,
  { sampler }: Source,
  request: Sampling.SampleRequest
) {
  const { tenant } = yield* Caller
  const caller = tenant ?? sampler.session.id
  return yield* Effect.mapError(PieceSampling.sample(sampling, caller, sampler.client, request), fromTinkerError)
})

/** Tokens that a streamed response waits for. */
const pieceTokens = 16

/**
 * One sequence, in pieces as they are sampled. Where the model stops at text there is one piece, since no sampler would see a
 * stop that begins in one piece and ends in the next.
 */
export const pieces = (parts: Parts, source: Source, request: Sampling.SampleRequest) => {
  const { params: { stop = [] } } = request
  const most = typeof stop[0] === "string" ? request.params.maxTokens : pieceTokens
  const first = { prompt: request.prompt, left: request.params.maxTokens, seed: request.params.seed }
  return Stream.unfold(
    first,
    Effect.fnUntraced(function*({ left, prompt, seed }) {
      if (left <= 0) return undefined
      const params = { ...request.params, maxTokens: Math.min(most, left), ...(seed === undefined ? {} : { seed }) }
      const [piece] = (yield* sample(parts, source, { prompt, params })).sequences
      if (piece === undefined) return undefined
      const isOver = piece.stopReason === "stop" || piece.tokens.length === 0
      const next = {
        prompt: ModelInput.append(prompt, piece.tokens),
        left: isOver ? 0 : left - piece.tokens.length,
        seed: seed === undefined ? undefined : seed + 1
      }
      return [piece, next] as const
    })
  )
}

/** The message that was sampled. */
export const parse = ({ chatModel: { renderer } }: Source, tokens: Int32Array) =>
  Effect.mapError(renderer.parse(tokens), ({ message }) => invalid(message))

/** Whether the response was cut at its limit, whatever its parts. */
export const isCut = ({ termination }: Renderer.Parsed, stopReason: Sampling.SampleStopReason) =>
  stopReason === "length" || termination === "malformed"
