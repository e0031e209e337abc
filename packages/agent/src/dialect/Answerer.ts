/**
 * The interface between the chat API dialects and the model weights that answer.
 *
 * @example
 * const names = ({ models }: Answerer.Answerer) => Effect.map(models, (all) => all.map(({ id }) => id))
 */
import type { ChatModel, Message } from "@effect-rl/core"
import type { Grammar, Sampling } from "@effect-rl/core/backend"
import type { Renderer, ResponseStream, ToolSpec } from "@effect-rl/core/renderers"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as CallNames from "./CallNames.ts"
import type { Refusal } from "./Refusal.ts"

/** A model as it appears in model lists. */
export interface ModelInfo {
  readonly id: string
  /** Maximum number of tokens of prompt and reply together. */
  readonly contextLength: number
}

/** A conversation and the tools that its reply may call. */
export interface Asked {
  readonly messages: ReadonlyArray<Message.Message>
  readonly tools: ReadonlyArray<ToolSpec.ToolSpec>
  /** The name of another renderer of the model's family, which selects a reasoning mode. Default: the model's own renderer. */
  readonly renderer?: string | undefined
}

/** A text or token ids for the reply to continue. */
export type Continuing = string | ReadonlyArray<number>

/** The sampling options of a request. The sampler chooses the values that are absent or null. */
export interface Settings {
  readonly maxTokens?: number | null | undefined
  readonly temperature?: number | null | undefined
  readonly topP?: number | null | undefined
  readonly topK?: number | null | undefined
  readonly seed?: number | null | undefined
  /** Number of replies. Default: 1. */
  readonly choices?: number | null | undefined
  /** How many of the most likely tokens to show at each sampled position. Default: 0. */
  readonly topLogprobs?: number | null | undefined
  /** Texts at which a reply ends. */
  readonly stops: ReadonlyArray<string>
  /** Whether a reply ends after its first tool call. */
  readonly isOneCall?: boolean | undefined
  /** The grammar that constrains the reply. Set only if the backend supports grammars. */
  readonly grammar?: Grammar.Grammar | undefined
}

/** A sampling request in which the number of replies and the number of alternative tokens per position are given. */
export type Request =
  & Sampling.SampleRequest
  & Required<Pick<Sampling.SampleRequest, "numSamples" | "topkSampleLogprobs">>

/** A finished reply. */
export interface Replied {
  /** The reply's index within the request. */
  readonly index: number
  /** The reply's tokens, in the pieces in which they were sampled. */
  readonly sequences: ReadonlyArray<Sampling.SampledTokens>
  readonly parsed: Renderer.Parsed
  /** Whether the reply is incomplete: it reached its token limit, or the model stopped in the middle of a part. */
  readonly isCut: boolean
  /** The client's stop text at which the reply ended, if any. */
  readonly stop: string | undefined
  /** Warnings for the client, such as requested fields that had no effect. */
  readonly warnings: ReadonlyArray<string>
}

/** A prompt that is ready to be sampled from. */
export interface Prompted {
  /** An id that is unique among answers. */
  readonly id: string
  readonly chatModel: ChatModel.ChatModel
  readonly request: Request
  readonly stops: ReadonlyArray<string>
  /** Whether a reply ends after its first tool call. */
  readonly isOneCall: boolean
  /** Parses a whole reply. */
  readonly parse: Renderer.Renderer["parse"]
  /** Creates a reader for one reply that is read while it is sampled. */
  readonly read: () => ResponseStream.ResponseStream
  /** The stop tokens to append to a reply that ended at the client's stop text. */
  readonly closing: Int32Array
  /** Ids for the tool calls of a reply, given the reply's index. */
  readonly callNames: (reply: number) => CallNames.CallNames
  /** Samples the request, or a piece of one of its replies. */
  readonly sample: (request: Sampling.SampleRequest) => Effect.Effect<Sampling.SampleResponse, Refusal>
  /** Called once for each finished reply; never for a reply whose client disconnected. */
  readonly replied: (reply: Replied) => Effect.Effect<void>
}

/** Answers the chat requests of one caller: finds weights by name and samples replies to conversations. */
export interface Answerer {
  readonly models: Effect.Effect<ReadonlyArray<ModelInfo>, Refusal>
  /** The tokenizer and renderer of the weights named by a request's `model`. */
  readonly chatModel: (model: string) => Effect.Effect<ChatModel.ChatModel, Refusal>
  /**
   * Whether calls to strict tools are checked after sampling when no call is forced, instead of being constrained by a grammar. Default:
   * constrained.
   */
  readonly checksStrict?: (model: string) => boolean
  /** Whether only sampled tokens get log-probabilities, but neither likely alternatives nor tokens of the prompt. Default: all of them. */
  readonly showsSampledOnly?: (model: string) => boolean
  /** Finds the weights, renders the conversation and reserves capacity for the reply until the scope closes. */
  readonly prompted: (
    model: string,
    asked: Asked,
    settings: Settings
  ) => Effect.Effect<Prompted, Refusal, Scope.Scope>
  /** Does what `prompted` does for a continuation of text or tokens. */
  readonly continued: (
    model: string,
    prompt: Continuing,
    settings: Settings
  ) => Effect.Effect<Prompted, Refusal, Scope.Scope>
}
