/** What a backend can do for one model. */
import type * as Loss from "../model/Loss.ts"
import type * as Sampling from "../model/Sampling.ts"

/** How a backend reduces a loss: the sum over tokens, or each sequence's mean averaged over sequences. */
export type LossReduction = "token-sum" | "sequence-mean" | "unknown"

/**
 * What the seed of a request to sample promises, from the least to the most:
 *
 * - `none`: the same request may give other samples
 * - `duplicates`: all samples of a request are the same, so that members of a group must be one request each
 * - `request`: the same request gives the same samples, which are not those of requests for one
 * - `sample`: sample `i` of a request is that of a request for one with seed + `i`
 */
export const seeds = ["none", "duplicates", "request", "sample"] as const
/** A promise of seeds. */
export type Seeds = typeof seeds[number]

/**
 * Whether the promise `given` includes the promise `least`.
 *
 * @example
 * const isRepeatable = ({ seeds }: Capabilities.Capabilities) => Capabilities.promise(seeds, "request")
 */
export const promise = (given: Seeds, least: Seeds): boolean => seeds.indexOf(given) >= seeds.indexOf(least)

/** The limits and features of a backend for one model. */
export interface Capabilities {
  /** Longest prompt and continuation together, in tokens. */
  readonly contextLength: number
  readonly lossReduction: LossReduction
  readonly seeds: Seeds
  readonly promptLogprobs: boolean
  /** Largest `topkPromptLogprobs`, and `topkSampleLogprobs` where `sampling` has it; 0 where there are none. */
  readonly topkPromptLogprobs: number
  /** Fields of a request to sample that the backend has beyond those of every backend; none unless given. */
  readonly sampling?: ReadonlyArray<Sampling.Extra>
  /** Losses by name beyond those that every backend has; none unless given. */
  readonly losses?: ReadonlyArray<Loss.Name>
  /** LoRA ranks from–to. */
  readonly loraRank: readonly [min: number, max: number]
  /** Identity of the tokenizer the model was trained with, where the backend knows it; see `Tokenizer.fingerprint`. */
  readonly tokenizerFingerprint?: string
}
