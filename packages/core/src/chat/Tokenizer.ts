/** Converts text to token ids and back. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { JinjaTemplate } from "./JinjaTemplate.ts"

/** Options of `Tokenizer.encode`. */
export interface EncodeOptions {
  /** Encode special tokens in the text as plain text, so a user's text cannot become a control token. */
  readonly splitSpecialTokens?: boolean
}

/** A tokenizer. It never adds special tokens and never cleans up spaces. */
export interface Tokenizer {
  readonly encode: (text: string, options?: EncodeOptions) => Int32Array
  readonly decode: (tokens: ArrayLike<number>) => string
  /** The bytes that a token stands for, which may be part of a character; absent if the vocabulary's tokens do not stand for bytes. */
  readonly bytesOf?: (token: number) => Uint8Array
  /** The id of a special token such as `<|im_end|>`; undefined if the vocabulary does not have it. */
  readonly specialToken: (text: string) => number | undefined
  readonly bosToken: string | undefined
  readonly eosTokenId: number | undefined
  /** The model's chat template, if the tokenizer has one. */
  readonly chatTemplate?: JinjaTemplate
  /** A hash of the tokenizer's definition. Tokenizers with the same fingerprint encode alike. */
  readonly fingerprint: string
}

/** Whether a token is a special token of the vocabulary, such as `<|im_end|>`. */
export const isSpecial = ({ decode, specialToken }: Tokenizer, token: number): boolean =>
  specialToken(decode([token])) === token

/** The tokenizer cannot be loaded. */
export class TokenizerError extends Schema.TaggedError<TokenizerError>()("TokenizerError", {
  tokenizer: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `tokenizer "${this.tokenizer}": ${this.detail}`
  }
}

/**
 * The service that loads a tokenizer by model name or folder.
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
