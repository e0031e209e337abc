/**
 * Tokens used: prefilled for prompts, sampled, and trained on.
 *
 * @example
 * const tokens = Usage.total(Usage.add(Usage.zero, { prefilled: 100, sampled: 64, trained: 0 }))
 */
import * as Schema from "effect/Schema"

/** Counts of tokens. */
export const Usage = Schema.Struct({
  prefilled: Schema.Finite,
  sampled: Schema.Finite,
  trained: Schema.Finite
})
export interface Usage extends Schema.Schema.Type<typeof Usage> {}

/** No tokens. */
export const zero: Usage = { prefilled: 0, sampled: 0, trained: 0 }

/** The tokens of both. */
export const add = (left: Usage, right: Usage): Usage => ({
  prefilled: left.prefilled + right.prefilled,
  sampled: left.sampled + right.sampled,
  trained: left.trained + right.trained
})

/** Tokens of all kinds. */
export const total = ({ prefilled, sampled, trained }: Usage): number => prefilled + sampled + trained
