/** What is asked of a sampler and what it answers. */
import type * as ModelInput from "./ModelInput.ts"

/**
 * Strings to stop at, or token ids. The stop is part of the sampled tokens. The model's own end of sequence stops as well where
 * strings are given or nothing is; token ids stand alone, and an empty list stops nowhere.
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

export type SampleStopReason = "stop" | "length"

/**
 * One sampled continuation. `logprobs[t]` is of `tokens[t]` under the untempered, unfiltered distribution.
 *
 * @see tinker-cookbook `TokensWithLogprobs`
 */
export interface SampledTokens {
  readonly tokens: Int32Array
  readonly logprobs: Float32Array
  readonly stopReason: SampleStopReason
}

/** One of the most likely tokens at a prompt position. */
export interface TokenLogprob {
  readonly token: number
  readonly logprob: number
}

export interface SampleRequest {
  readonly prompt: ModelInput.ModelInput
  /** Default 1; all samples share the prompt's computation. */
  readonly numSamples?: number
  readonly params: SamplingParams
  /** Also return the log-probability of each prompt token. */
  readonly promptLogprobs?: boolean
  /** Also return this many of the most likely tokens at each prompt position. */
  readonly topkPromptLogprobs?: number
}

export interface SampleResponse {
  readonly sequences: ReadonlyArray<SampledTokens>
  /** One value per prompt token, NaN at the first. */
  readonly promptLogprobs?: Float32Array
  /** Most likely first; empty at the first position. */
  readonly topkPromptLogprobs?: ReadonlyArray<ReadonlyArray<TokenLogprob>>
}
