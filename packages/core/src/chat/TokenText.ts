/** Text of tokens as they arrive: a character is held back until all of its bytes are there. */
import type { Tokenizer } from "./Tokenizer.ts"

const isCut = (text: string) => text.endsWith("\ufffd")

/** The text of more and more tokens. Joined, the pieces are the text of all tokens together. */
export interface TokenText {
  /** The text that these tokens complete. */
  readonly push: (tokens: ArrayLike<number>) => string
  /** The rest, with U+FFFD for a character that was never completed. */
  readonly end: () => string
}

/**
 * Decodes tokens in the context of those before them, because some vocabularies decode the first token of a text differently.
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
