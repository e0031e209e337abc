/** What a backend can do for one model. */
import type * as Loss from "../model/Loss.ts"
import type * as Sampling from "../model/Sampling.ts"

/** How a backend reduces a loss: the sum over tokens, each sequence's mean averaged over sequences, or not known. */
export type LossReduction = "token-sum" | "sequence-mean" | "unknown"

/**
 * What a backend promises about the seed of a sampling request, from the weakest promise to the strongest:
 *
 * - `none`: repeating a request may give different samples
 * - `duplicates`: all samples of one request are identical, so a group needs one request per member
 * - `request`: repeating a request gives the same samples; they differ from those of single-sample requests
 * - `sample`: sample `i` of a request equals the sample of a single-sample request with seed + `i`
 */
export const seeds = ["none", "duplicates", "request", "sample"] as const
/** How far a seed makes samples repeatable; `seeds` explains each value. */
export type Seeds = typeof seeds[number]

/**
 * Whether the seed promise `given` is at least as strong as `least`.
 *
 * @example
 * const isRepeatable = ({ seeds }: Capabilities.Capabilities) => Capabilities.promise(seeds, "request")
 */
export const promise = (given: Seeds, least: Seeds): boolean => seeds.indexOf(given) >= seeds.indexOf(least)

/** The limits and features of a backend for one model. */
export interface Capabilities {
  /** Maximum length of the prompt and the continuation together, in tokens. */
  readonly contextLength: number
  readonly lossReduction: LossReduction
  readonly seeds: Seeds
  readonly promptLogprobs: boolean
  /**
   * The largest `topkPromptLogprobs` of a request; 0 if the backend does not support it. If `sampling` lists `topkSampleLogprobs`, the same
   * limit applies to it.
   */
  readonly topkPromptLogprobs: number
  /** Optional request fields that the backend supports in addition to those of every backend. Default: none. */
  readonly sampling?: ReadonlyArray<Sampling.Extra>
  /** Names of the losses that the backend supports in addition to those of every backend. Default: none. */
  readonly losses?: ReadonlyArray<Loss.Name>
  /** The smallest and the largest supported LoRA rank. */
  readonly loraRank: readonly [min: number, max: number]
  /** Identity of the tokenizer the model was trained with, if the backend knows it; see `Tokenizer.fingerprint`. */
  readonly tokenizerFingerprint?: string
}
