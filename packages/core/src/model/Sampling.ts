/**
 * Sampling requests and responses.
 *
 * @example
 * client.sample({ prompt, numSamples: 4, params: { maxTokens: 64, temperature: 1, seed: 7 } })
 */
import type { Grammar } from "./Grammar.ts"
import type * as ModelInput from "./ModelInput.ts"

/**
 * Strings or token ids at which sampling stops. The stop is part of the sampled tokens. With strings, or without a stop, sampling also
 * stops at the model's end-of-sequence token. Token ids replace that token, so with an empty list sampling never stops early.
 */
export type Stop = ReadonlyArray<string> | ReadonlyArray<number>

/**
 * Sampling parameters. Defaults: `temperature` 1, `topP` 1, `topK` off. With a `seed`, sample `i` of a request can be reproduced with the
 * seed `seed + i`.
 *
 * @see tinker `SamplingParams`
 */
export interface SamplingParams {
  readonly maxTokens: number
  readonly stop?: Stop
  readonly temperature?: number
  readonly topP?: number
  readonly topK?: number
  readonly seed?: number
}

/** Why a sequence ended: at a stop or at the token limit. */
export type SampleStopReason = "stop" | "length"

/**
 * One sampled continuation. `logprobs[t]` is the log-probability of `tokens[t]` under the untempered, unfiltered distribution.
 *
 * @see tinker-cookbook `TokensWithLogprobs`
 */
export interface SampledTokens {
  readonly tokens: Int32Array
  readonly logprobs: Float32Array
  /**
   * The log-probability of each token under the distribution from which it was sampled: untempered, unfiltered, and limited to the tokens
   * that the grammar allowed. Only if the request had a grammar; `logprobs` ignores the grammar.
   */
  readonly maskedLogprobs?: Float32Array
  readonly stopReason: SampleStopReason
  /** The optimizer step of the weights that sampled the sequence, if the policy uses the newest weights for each turn. */
  readonly samplerStep?: number
  /** The backend's name of this sequence. A datum's provenance refers to it. */
  readonly sequenceId?: string
  /** The most likely tokens at each position, most likely first, if `topkSampleLogprobs` requested them. */
  readonly topkLogprobs?: ReadonlyArray<ReadonlyArray<TokenLogprob>>
}

/** One of the most likely tokens at a position, with its log-probability. */
export interface TokenLogprob {
  readonly token: number
  readonly logprob: number
}

/** A request for one or more continuations of a prompt. */
export interface SampleRequest {
  readonly prompt: ModelInput.ModelInput
  /** Number of samples. They share the computation of the prompt. Default: 1. */
  readonly numSamples?: number
  readonly params: SamplingParams
  /** Also return the log-probability of each prompt token. */
  readonly promptLogprobs?: boolean
  /** Also return this many of the most likely tokens at each prompt position. */
  readonly topkPromptLogprobs?: number
  /** Also return this many of the most likely tokens at each sampled position. */
  readonly topkSampleLogprobs?: number
  /** Also return the log-probabilities of these candidate tokens at each prompt position but the first. */
  readonly targetPromptLogprobs?: PromptTargets
  /** Also draw this many tokens, independently, at each prompt position but the first. */
  readonly promptAltTokens?: number
  /** Score only this many tokens at the end of the prompt; needs `promptLogprobs`. */
  readonly promptLogprobsLastN?: number
  /** Let the backend record the data about each sequence that the loss `stable_reinforce` needs. */
  readonly recordStabilityInfo?: boolean
  /**
   * Sample only text that the grammar allows, followed by a stop. A sequence that reaches its token limit is a prefix of such a text. All
   * log-probabilities other than `maskedLogprobs` ignore the grammar.
   */
  readonly grammar?: Grammar
}

/** Request fields that only some backends support; see `Capabilities.sampling`. */
export type Extra = keyof Pick<
  SampleRequest,
  | "topkSampleLogprobs"
  | "targetPromptLogprobs"
  | "promptAltTokens"
  | "promptLogprobsLastN"
  | "recordStabilityInfo"
  | "grammar"
>

/** Candidate tokens for each prompt position but the first, row-major `[T − 1, K]`; −1 marks an unused cell. */
export interface PromptTargets {
  readonly tokens: Int32Array
  readonly candidates: number
}

/** Log-probabilities of `PromptTargets`, in the same shape; 0 for unused cells. */
export interface TargetLogprobs {
  readonly logprobs: Float32Array
  readonly candidates: number
}

/** Tokens drawn at each prompt position but the first, and their log-probabilities. Both are row-major, `[T − 1, K]`. */
export interface PromptAltTokens extends PromptTargets {
  readonly logprobs: Float32Array
}

/** The continuations of a prompt, and the requested information about the prompt itself. */
export interface SampleResponse {
  readonly sequences: ReadonlyArray<SampledTokens>
  /** The log-probability of each prompt token; NaN at the first and at tokens that `promptLogprobsLastN` excludes. */
  readonly promptLogprobs?: Float32Array
  /** The most likely tokens at each prompt position, most likely first; empty where `promptLogprobs` would be NaN. */
  readonly topkPromptLogprobs?: ReadonlyArray<ReadonlyArray<TokenLogprob>>
  readonly targetPromptLogprobs?: TargetLogprobs
  readonly promptAltTokens?: PromptAltTokens
  /** Prompt tokens that the backend read from its cache, if it reports them. */
  readonly promptCacheHitTokens?: number
}
