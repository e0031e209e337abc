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

/** Loads a tokenizer by model name or folder. */
export class Tokenizers extends Context.Service<Tokenizers, {
  readonly load: (id: string) => Effect.Effect<Tokenizer, TokenizerError>
}>()("@effect-rl/core/chat/Tokenizers") {}
