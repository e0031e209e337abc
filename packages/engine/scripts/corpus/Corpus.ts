/** The training data of a preset. */
import type { Tokenizer } from "@effect-rl/core/renderers"
import type { Document } from "./Documents.ts"

export interface Corpus {
  /** Texts for training the tokenizer, with their weights. */
  readonly texts: () => Promise<ReadonlyArray<readonly [text: string, count: number]>>
  /** The documents of each step, counted from 1 and requested in order. */
  readonly documents: (
    tokenizer: Tokenizer.Tokenizer,
    steps: number
  ) => Promise<(step: number) => Promise<ReadonlyArray<Document>>>
}

/** In this share of the steps the assistant's answers are reliable; afterwards they show its final habits. */
export const reliableShare = 0.6
