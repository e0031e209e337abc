/** The chat template of a tokenizer. */
import type * as Result from "effect/Result"

/** The variables of a template: `messages`, `tools`, `add_generation_prompt`, and any others that the template reads. */
export type Variables = Readonly<Record<string, unknown>>

/**
 * A compiled Jinja template. `source` is the template's text.
 *
 * @example
 * const text = tokenizer.chatTemplate?.write({ messages, add_generation_prompt: true })
 */
export interface JinjaTemplate {
  readonly source: string
  /** Renders a conversation as text. Fails with the error that the template raised, or names a feature that the interpreter lacks. */
  readonly write: (variables: Variables) => Result.Result<string, string>
}
