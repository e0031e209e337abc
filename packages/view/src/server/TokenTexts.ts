/** Texts of token ids. */
import type { Tokenizer } from "@effect-rl/core/renderers"
import type * as Entry from "../story/Entry.ts"

/** The texts of token ids; null if the model's tokenizer is not available. */
export type TokenTexts = (tokens: ReadonlyArray<number | null>) => ReadonlyArray<Entry.Piece> | null

export const unknown: TokenTexts = () => null

const image: Entry.Piece = { text: "image", isSpecial: true }

/** The texts of a tokenizer's tokens; each token is decoded once. */
export const make = (tokenizer: Tokenizer.Tokenizer): TokenTexts => {
  const known = new Map<number, Entry.Piece>()
  const piece = (token: number): Entry.Piece => {
    const text = tokenizer.decode([token])
    const found = { text, isSpecial: tokenizer.specialToken(text) === token }
    known.set(token, found)
    return found
  }
  return (tokens) => tokens.map((token) => token === null ? image : known.get(token) ?? piece(token))
}
