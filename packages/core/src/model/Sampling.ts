/**
 * Requests to a sampler and its answers.
 *
 * @example
 * client.sample({ prompt, numSamples: 4, params: { maxTokens: 64, temperature: 1, seed: 7 } })
 */
import type { Grammar } from "./Grammar.ts"
import type * as ModelInput from "./ModelInput.ts"

/**
 * Strings to stop at, or token ids. The stop is part of the sampled tokens. With strings, or where no stop is given, the model's own end
 * of sequence stops as well; token ids replace it, and an empty list never stops.
 */
export type Stop = ReadonlyArray<string> | ReadonlyArray<number>

/**
 * `temperature` 1, `topP` 1 and `topK` off unless given. A `seed` makes sample `i` of a request reproducible as `seed + i`.
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

/** Why a sequence ended: at a stop, or at the limit of tokens. */
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
   * The log-probability of each token under the untempered, unfiltered distribution over the tokens that the grammar allowed, where the request
   * had one: what was sampled from. `logprobs` are those of the weights alone.
   */
  readonly maskedLogprobs?: Float32Array
  readonly stopReason: SampleStopReason
  /** Optimizer steps behind the weights that sampled it, where a policy takes the newest ones for each turn. */
  readonly samplerStep?: number
  /** The backend's own name of this sequence, by which a datum says where its tokens come from. */
  readonly sequenceId?: string
  /** The most likely tokens at each position, most likely first, where `topkSampleLogprobs` asked for them. */
  readonly topkLogprobs?: ReadonlyArray<ReadonlyArray<TokenLogprob>>
}

/** One of the most likely tokens at a prompt position. */
export interface TokenLogprob {
  readonly token: number
  readonly logprob: number
}

/** A request for one or more continuations of a prompt. */
export interface SampleRequest {
  readonly prompt: ModelInput.ModelInput
  /** Default 1; all samples share the prompt's computation. */
  readonly numSamples?: number
  readonly params: SamplingParams
  /** Also return the log-probability of each prompt token. */
  readonly promptLogprobs?: boolean
  /** Also return this many of the most likely tokens at each prompt position. */
  readonly topkPromptLogprobs?: number
  /** Also return this many of the most likely tokens at each sampled position. */
  readonly topkSampleLogprobs?: number
  /** Also score these tokens in place of the prompt's own. */
  readonly targetPromptLogprobs?: PromptTargets
  /** Also draw this many tokens, independently, in place of each prompt token but the first. */
  readonly promptAltTokens?: number
  /** Score only this many of the last prompt tokens; needs `promptLogprobs`. */
  readonly promptLogprobsLastN?: number
  /** Let the backend record what `stable_reinforce` needs of each sequence. */
  readonly recordStabilityInfo?: boolean
  /**
   * Sample only what the grammar allows, then a stop. A sequence that reaches its limit of tokens is the beginning of such a text. Other
   * log-probabilities that are asked for are those of the weights alone.
   */
  readonly grammar?: Grammar
}

/** Fields of a request that only some backends have; see `Capabilities.sampling`. */
export type Extra = keyof Pick<
  SampleRequest,
  | "topkSampleLogprobs"
  | "targetPromptLogprobs"
  | "promptAltTokens"
  | "promptLogprobsLastN"
  | "recordStabilityInfo"
  | "grammar"
>

/** Candidates `[T − 1, K]` for the prompt's tokens but the first, row-major; −1 asks for nothing. */
export interface PromptTargets {
  readonly tokens: Int32Array
  readonly candidates: number
}

/** Log-probabilities of `PromptTargets`, in their shape; 0 where a cell asks for nothing. */
export interface TargetLogprobs {
  readonly logprobs: Float32Array
  readonly candidates: number
}

/** Tokens drawn in place of the prompt's but the first, and their log-probabilities: both `[T − 1, K]`, row-major. */
export interface PromptAltTokens extends PromptTargets {
  readonly logprobs: Float32Array
}

/** The continuations of a prompt, and what the request asked for about the prompt itself. */
export interface SampleResponse {
  readonly sequences: ReadonlyArray<SampledTokens>
  /** One value per prompt token, NaN at the first. */
  readonly promptLogprobs?: Float32Array
  /** Most likely first; empty at the first position. */
  readonly topkPromptLogprobs?: ReadonlyArray<ReadonlyArray<TokenLogprob>>
  readonly targetPromptLogprobs?: TargetLogprobs
  readonly promptAltTokens?: PromptAltTokens
  /** Prompt tokens that the backend did not have to compute, where it says so. */
  readonly promptCacheHitTokens?: number
}
