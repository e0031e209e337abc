/**
 * Text in which special tokens that a message quotes are distinguished from those that its template writes. A quoted one carries a mark
 * after its first character; templates copy the mark, and it is removed when the text is tokenized.
 */
import type { Tokenizer } from "../../chat/Tokenizer.ts"

/** Unicode guarantees that these are not characters. */
const candidates = Array.from({ length: 32 }, (_, index) => String.fromCharCode(0xfdd0 + index))

/** A mark that does not occur in the text; `undefined` where the text has every one of them. */
export const markFor = (text: string): string | undefined => candidates.find((mark) => !text.includes(mark))

const isSpecial = (tokenizer: Tokenizer, text: string, id: number) =>
  tokenizer.specialToken(text) === id && tokenizer.encode(text, { splitSpecialTokens: true })[0] !== id

/** The special tokens that the text is read with. */
export const specialsIn = (tokenizer: Tokenizer, text: string): ReadonlyArray<string> =>
  Array.from(new Set(tokenizer.encode(text)), (id) => [tokenizer.decode([id]), id] as const)
    .flatMap(([token, id]) => isSpecial(tokenizer, token, id) ? [token] : [])

/** The text with a mark in each special token but those of `kept`. */
export const quote = (tokenizer: Tokenizer, mark: string, text: string, kept: ReadonlyArray<string> = []): string => {
  const found = specialsIn(tokenizer, text).filter((token) => !kept.includes(token))
  if (found.length === 0) return text
  const marked = found.reduce((all, token) => all.replaceAll(token, token.slice(0, 1) + mark + token.slice(1)), text)
  return marked === text ? text : quote(tokenizer, mark, marked, kept)
}

const escaped = (text: string) => text.replace(/[|[\]\\^$.*+?(){}/-]/g, "\\$&")

const splitAt = (text: string, tokens: ReadonlyArray<string>) =>
  tokens.length === 0 ? [text] : text.split(new RegExp(`(${tokens.map(escaped).join("|")})`))

/** The tokens of marked text: quoted special tokens are read as letters. */
export const encode = (tokenizer: Tokenizer, mark: string, text: string): Int32Array => {
  if (!text.includes(mark)) return tokenizer.encode(text)
  const specials = specialsIn(tokenizer, text)
  return Int32Array.from(
    splitAt(text, specials).flatMap((piece) => [
      ...tokenizer.encode(piece.replaceAll(mark, ""), { splitSpecialTokens: piece.includes(mark) })
    ])
  )
}
