/** Texts of token ids, where a tokenizer of the model is here. */
import { Tokenizer } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Entry from "../story/Entry.ts"

/** The texts of token ids; null for those of a model whose tokenizer is not here. */
export type TokenTexts = (tokens: ReadonlyArray<number | null>) => ReadonlyArray<Entry.Piece> | null

const unknown: TokenTexts = () => null

const image: Entry.Piece = { text: "image", isSpecial: true }

const make = (tokenizer: Tokenizer.Tokenizer): TokenTexts => {
  const known = new Map<number, Entry.Piece>()
  const piece = (token: number): Entry.Piece => {
    const text = tokenizer.decode([token])
    const found = { text, isSpecial: tokenizer.specialToken(text) === token }
    known.set(token, found)
    return found
  }
  return (tokens) => tokens.map((token) => token === null ? image : known.get(token) ?? piece(token))
}

/** Texts of the model's tokens. Tokenizers come from the service `Tokenizers`, where there is one. */
export const of = Effect.fnUntraced(function*(model: string) {
  const tokenizers = yield* Effect.serviceOption(Tokenizer.Tokenizers)
  if (Option.isNone(tokenizers) || model === "") return unknown
  return yield* Effect.match(tokenizers.value.load(model), { onFailure: () => unknown, onSuccess: make })
})
