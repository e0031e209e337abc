/** A tokenizer for any text: one token per character, and one per special token. */
import type { Tokenizer } from "@effect-rl/core/renderers"
import { TestTokenizer } from "@effect-rl/core/testing"

/** The special tokens of all model families that recipes name, including those around images. */
export const specialTokens = [...TestTokenizer.specialTokens, "<|vision_start|>", "<|vision_end|>"]

/** The first id of special tokens, above all Unicode code points. */
const firstSpecial = 0x110000

const specialAt = (text: string, at: number) => specialTokens.findIndex((special) => text.startsWith(special, at))

const encode = (text: string, { splitSpecialTokens = false }: Tokenizer.EncodeOptions = {}): Int32Array => {
  const tokens: Array<number> = []
  for (let at = 0; at < text.length;) {
    const special = splitSpecialTokens ? -1 : specialAt(text, at)
    const token = special < 0 ? text.codePointAt(at) ?? 0 : firstSpecial + special
    tokens.push(token)
    at += special < 0 ? String.fromCodePoint(token).length : specialTokens[special]?.length ?? 1
  }
  return Int32Array.from(tokens)
}

const specialToken = (text: string): number | undefined => {
  const index = specialTokens.indexOf(text)
  return index < 0 ? undefined : firstSpecial + index
}

export const tokenizer: Tokenizer.Tokenizer = {
  encode,
  decode: (tokens) =>
    Array.from(
      tokens,
      (token) => token < firstSpecial ? String.fromCodePoint(token) : specialTokens[token - firstSpecial] ?? ""
    ).join(""),
  specialToken,
  bosToken: undefined,
  eosTokenId: specialToken("<|endoftext|>"),
  fingerprint: "code-points"
}
