/** What a backend can do for one model. */
import type * as Loss from "../model/Loss.ts"
import type * as Sampling from "../model/Sampling.ts"

/** How a backend reduces a loss: the sum over tokens, or each sequence's mean averaged over sequences. */
export type LossReduction = "token-sum" | "sequence-mean" | "unknown"

export interface Capabilities {
  /** Longest prompt and continuation together, in tokens. */
  readonly contextLength: number
  readonly lossReduction: LossReduction
  /** A seed makes sampling reproducible. */
  readonly seeds: boolean
  readonly promptLogprobs: boolean
  /** Largest `topkPromptLogprobs`, and `topkSampleLogprobs` where `sampling` has it; 0 where there are none. */
  readonly topkPromptLogprobs: number
  /** What a request to sample may ask for beyond what every backend has; nothing unless given. */
  readonly sampling?: ReadonlyArray<Sampling.Extra>
  /** Losses by name beyond those that every backend has; none unless given. */
  readonly losses?: ReadonlyArray<Loss.Name>
  /** LoRA ranks from–to. */
  readonly loraRank: readonly [min: number, max: number]
  /** Identity of the tokenizer the model was trained with, where the backend knows it; see `Tokenizer.fingerprint`. */
  readonly tokenizerFingerprint?: string
}
