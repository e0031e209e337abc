/** The prompts of both contestants: arbitrary token ids, so no tokenizer is involved. */

/** Number of sequences sampled concurrently. */
export const count = 16
export const newTokens = 32

export const tokens = Int32Array.from({ length: 32 }, (_, position) => 1000 + position * 37)
