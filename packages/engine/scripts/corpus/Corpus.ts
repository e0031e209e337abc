/** What a preset is trained on. */
import type { Tokenizer } from "@effect-rl/core/renderers"
import type { Document } from "./Documents.ts"

export interface Corpus {
  /** Texts that the tokenizer is trained on, and how much each counts. */
  readonly texts: () => Promise<ReadonlyArray<readonly [text: string, count: number]>>
  /** The documents of each step, from 1 on, asked for in order. */
  readonly documents: (
    tokenizer: Tokenizer.Tokenizer,
    steps: number
  ) => Promise<(step: number) => Promise<ReadonlyArray<Document>>>
}

/** In this share of the steps the assistant's answers are reliable; after that it has the habits it is left with. */
export const reliableShare = 0.6
