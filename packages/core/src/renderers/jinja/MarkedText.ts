/**
 * Distinguishes special tokens quoted in a message from those that the template writes. A quoted token carries a mark after its first
 * character; templates copy the mark, and tokenization removes it.
 */
import type { Tokenizer } from "../../chat/Tokenizer.ts"

/** Unicode noncharacters, which never occur in valid text. */
const candidates = Array.from({ length: 32 }, (_, index) => String.fromCharCode(0xfdd0 + index))

/** A mark that does not occur in the text; `undefined` if all candidates occur. */
export const markFor = (text: string): string | undefined => candidates.find((mark) => !text.includes(mark))

const isSpecial = (tokenizer: Tokenizer, text: string, id: number) =>
  tokenizer.specialToken(text) === id && tokenizer.encode(text, { splitSpecialTokens: true })[0] !== id

/** The tokenizer's special tokens that occur in the text. */
export const specialsIn = (tokenizer: Tokenizer, text: string): ReadonlyArray<string> =>
  Array.from(new Set(tokenizer.encode(text)), (id) => [tokenizer.decode([id]), id] as const)
    .flatMap(([token, id]) => isSpecial(tokenizer, token, id) ? [token] : [])

/** Marks each special token in the text, except those in `kept`. */
export const quote = (tokenizer: Tokenizer, mark: string, text: string, kept: ReadonlyArray<string> = []): string => {
  const found = specialsIn(tokenizer, text).filter((token) => !kept.includes(token))
  if (found.length === 0) return text
  const marked = found.reduce((all, token) => all.replaceAll(token, token.slice(0, 1) + mark + token.slice(1)), text)
  return marked === text ? text : quote(tokenizer, mark, marked, kept)
}

const escaped = (text: string) => text.replace(/[|[\]\\^$.*+?(){}/-]/g, "\\$&")

const splitAt = (text: string, tokens: ReadonlyArray<string>) =>
  tokens.length === 0 ? [text] : text.split(new RegExp(`(${tokens.map(escaped).join("|")})`))

/** The tokens of marked text; quoted special tokens are read as plain characters. */
export const encode = (tokenizer: Tokenizer, mark: string, text: string): Int32Array => {
  if (!text.includes(mark)) return tokenizer.encode(text)
  const specials = specialsIn(tokenizer, text)
  return Int32Array.from(
    splitAt(text, specials).flatMap((piece) => [
      ...tokenizer.encode(piece.replaceAll(mark, ""), { splitSpecialTokens: piece.includes(mark) })
    ])
  )
}
