/** The chat template of a tokenizer. */
import type * as Result from "effect/Result"

/** The variables of a template: `messages`, `tools`, `add_generation_prompt` and any others that its author chose. */
export type Variables = Readonly<Record<string, unknown>>

/**
 * A compiled Jinja template. `source` is its text.
 *
 * @example
 * const text = tokenizer.chatTemplate?.write({ messages, add_generation_prompt: true })
 */
export interface JinjaTemplate {
  readonly source: string
  /** The text of a conversation. The failure is the error that the template raised, or a feature that its interpreter lacks. */
  readonly write: (variables: Variables) => Result.Result<string, string>
}
