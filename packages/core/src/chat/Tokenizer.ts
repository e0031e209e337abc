/** Text to token ids and back. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { JinjaTemplate } from "./JinjaTemplate.ts"

export interface EncodeOptions {
  /** Treat special tokens in the text as plain text: what a user typed can then not become a control token. */
  readonly splitSpecialTokens?: boolean
}

/** Never adds special tokens of its own and never cleans up spaces. */
export interface Tokenizer {
  readonly encode: (text: string, options?: EncodeOptions) => Int32Array
  readonly decode: (tokens: ArrayLike<number>) => string
  /** The id of a special token such as `<|im_end|>`. */
  readonly specialToken: (text: string) => number | undefined
  readonly bosToken: string | undefined
  readonly eosTokenId: number | undefined
  /** What the model's own tools write conversations by, where the tokenizer comes with one. */
  readonly chatTemplate?: JinjaTemplate
  /** Equal for tokenizers that encode alike: a hash of their definition. */
  readonly fingerprint: string
}

export class TokenizerError extends Schema.TaggedError<TokenizerError>()("TokenizerError", {
  tokenizer: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `tokenizer "${this.tokenizer}": ${this.detail}`
  }
}

/**
 * Loads a tokenizer by model name or folder.
 *
 * @example
 * const letters: Tokenizer.Tokenizer = {
 *   encode: (text) => Int32Array.from(text, (letter) => letter.codePointAt(0) ?? 0),
 *   decode: (tokens) => String.fromCodePoint(...Int32Array.from(tokens)),
 *   specialToken: () => undefined,
 *   bosToken: undefined,
 *   eosTokenId: undefined,
 *   fingerprint: "letters"
 * }
 * const layer = Layer.succeed(Tokenizer.Tokenizers, { load: () => Effect.succeed(letters) })
 */
export class Tokenizers extends Context.Service<Tokenizers, {
  readonly load: (id: string) => Effect.Effect<Tokenizer, TokenizerError>
}>()("@effect-rl/core/chat/Tokenizers") {}
