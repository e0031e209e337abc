/** Conditions that end a sample: token ids, or strings that are matched in the tokens' bytes. */

/** The bytes of a token, one character per byte. */
export type TokenBytes = (token: number) => string

/** Stop tokens and stop strings. Strings are UTF-8, written as one character per byte. */
export interface Stops {
  readonly tokens: ReadonlyArray<number>
  readonly strings: ReadonlyArray<string>
}

export const none: Stops = { tokens: [], strings: [] }

/** The UTF-8 bytes of a text, one character per byte. */
export const utf8 = (text: string) =>
  Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("")

/** Returns a function that receives one sample's tokens in order and tells whether the token ends the sample. */
export const matcher = (stops: Stops, bytes: TokenBytes): (token: number) => boolean => {
  const stopTokens = new Set(stops.tokens)
  const keep = stops.strings.reduce((longest, stop) => Math.max(longest, stop.length - 1), 0)
  let tail = ""
  return (token) => {
    if (stopTokens.has(token)) return true
    if (stops.strings.length === 0) return false
    const text = tail + bytes(token)
    tail = keep === 0 ? "" : text.slice(-keep)
    return stops.strings.some((stop) => text.includes(stop))
  }
}
