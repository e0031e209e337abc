/** Decodes tokens as they arrive. A character is held back until all of its bytes are there. */
import type { Tokenizer } from "./Tokenizer.ts"

const isCut = (text: string) => text.endsWith("\ufffd")

/** An incremental decoder. Its pieces, joined, equal the text of all tokens decoded together. */
export interface TokenText {
  /** Returns the text that these tokens complete. */
  readonly push: (tokens: ArrayLike<number>) => string
  /** Returns the remaining text, with U+FFFD for an incomplete character. */
  readonly end: () => string
}

/**
 * A decoder that decodes tokens in the context of those before them, because some vocabularies decode the first token of a text
 * differently.
 *
 * @example
 * const text = TokenText.make(tokenizer)
 * const shown = text.push([12, 55]) + text.push([3]) + text.end()
 */
export const make = (tokenizer: Tokenizer): TokenText => {
  let before: ReadonlyArray<number> = []
  let pending: Array<number> = []
  const rest = () => {
    if (pending.length === 0) return ""
    const known = tokenizer.decode(before)
    return tokenizer.decode([...before, ...pending]).slice(known.length)
  }
  return {
    push: (tokens) => {
      pending.push(...Array.from(tokens))
      const text = rest()
      if (text === "" || isCut(text)) return ""
      before = pending
      pending = []
      return text
    },
    end: () => {
      const text = rest()
      pending = []
      return text
    }
  }
}

/** The number of UTF-8 bytes of a text. */
export const byteLength = (text: string): number => {
  let bytes = 0
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0
    bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4
  }
  return bytes
}
