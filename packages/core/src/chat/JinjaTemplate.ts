/** The chat template that a tokenizer comes with. */
import type * as Result from "effect/Result"

/** What a template reads: `messages`, `tools`, `add_generation_prompt` and what else its author gave a name. */
export type Variables = Readonly<Record<string, unknown>>

/**
 * A compiled Jinja template. `source` is its text.
 *
 * @example
 * const text = tokenizer.chatTemplate?.write({ messages, add_generation_prompt: true })
 */
export interface JinjaTemplate {
  readonly source: string
  /** The text of a conversation. The failure is what the template raised, or what its interpreter could not do. */
  readonly write: (variables: Variables) => Result.Result<string, string>
}
