/**
 * The port between the dialects of chat clients and the weights that answer.
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

/** A model as lists of models show it. */
export interface ModelInfo {
  readonly id: string
  /** Tokens of prompt and reply together. */
  readonly contextLength: number
}

/** A conversation and the tools that its reply may call. */
export interface Asked {
  readonly messages: ReadonlyArray<Message.Message>
  readonly tools: ReadonlyArray<ToolSpec.ToolSpec>
  /** The name of a renderer of the model's family, for another mode of reasoning; the model's own renderer unless given. */
  readonly renderer?: string | undefined
}

/** A text, or its tokens, that a reply continues. */
export type Continuing = string | ReadonlyArray<number>

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
  /** Whether a reply ends after its first call of a tool. */
  readonly isOneCall?: boolean | undefined
  /** The grammar to which a reply is held; its backend has grammars. */
  readonly grammar?: Grammar.Grammar | undefined
}

/** A request whose number of replies and of shown candidates are known. */
export type Request =
  & Sampling.SampleRequest
  & Required<Pick<Sampling.SampleRequest, "numSamples" | "topkSampleLogprobs">>

/** A reply that is over. */
export interface Replied {
  /** Its number among the replies to the request. */
  readonly index: number
  /** The tokens that belong to it, in the pieces in which they were sampled. */
  readonly sequences: ReadonlyArray<Sampling.SampledTokens>
  readonly parsed: Renderer.Parsed
  /** Whether it was cut: at its limit, or by the model in the middle of a part. */
  readonly isCut: boolean
  /** The text of the client's own at which it ended. */
  readonly stop: string | undefined
  /** What its client is warned of: fields whose effect was not given. */
  readonly warnings: ReadonlyArray<string>
}

/** A prompt whose reply can be sampled. */
export interface Prompted {
  /** A name that no other answer has. */
  readonly id: string
  readonly chatModel: ChatModel.ChatModel
  readonly request: Request
  readonly stops: ReadonlyArray<string>
  /** Whether a reply ends after its first call of a tool. */
  readonly isOneCall: boolean
  /** A new reader of one reply. */
  readonly read: () => ResponseStream.ResponseStream
  /** The stop of a reply that ended at the client's own text. */
  readonly closing: Int32Array
  /** Names for the calls of tools in a reply, by its number. */
  readonly callNames: (reply: number) => CallNames.CallNames
  /** Samples the request, or a piece of one of its replies. */
  readonly sample: (request: Sampling.SampleRequest) => Effect.Effect<Sampling.SampleResponse, Refusal>
  /** Receives each reply that is over, once; one whose client hung up is never over. */
  readonly replied: (reply: Replied) => Effect.Effect<void>
}

/** Answers the chat requests of one caller: finds weights by name, and samples replies to conversations. */
export interface Answerer {
  readonly models: Effect.Effect<ReadonlyArray<ModelInfo>, Refusal>
  /** Tokenizer and renderer of the weights that a request names by its `model`. */
  readonly chatModel: (model: string) => Effect.Effect<ChatModel.ChatModel, Refusal>
  /** Whether strict tools of these weights are checked where no call is forced, and not held by a grammar; they are held unless given. */
  readonly checksStrict?: (model: string) => boolean
  /** Finds the weights, renders the conversation and makes room for its reply, which is given back when the scope closes. */
  readonly prompted: (
    model: string,
    asked: Asked,
    settings: Settings
  ) => Effect.Effect<Prompted, Refusal, Scope.Scope>
  /** The same for a continuation of text or of tokens. */
  readonly continued: (
    model: string,
    prompt: Continuing,
    settings: Settings
  ) => Effect.Effect<Prompted, Refusal, Scope.Scope>
}
