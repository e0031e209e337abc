/** Decodes tokens to text as they arrive. */
import * as ByteFallback from "./ByteFallback.ts"
import * as ByteLevel from "./ByteLevel.ts"

/**
 * Decodes tokens piece by piece. The results of all pushes and of `flush` add up to the text of all tokens.
 *
 * @example
 * const shown = (decoder: IncrementalDecoder.IncrementalDecoder) => decoder.push([12]) + decoder.push([55]) + decoder.flush()
 */
export interface IncrementalDecoder {
  /** Adds tokens and returns the text that later tokens cannot change. Bytes of an incomplete character are held back. */
  readonly push: (tokens: ArrayLike<number>) => string
  /** Returns the text that is still held back. Call it after the last token. */
  readonly flush: () => string
}

/** A decoder for byte-level vocabularies. */
export const fromTokenBytes = (table: ByteLevel.TokenBytes): IncrementalDecoder => {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
  return {
    push: (tokens) =>
      Array.from(tokens, (token) => decoder.decode(ByteLevel.bytesOfToken(table, token), { stream: true })).join(""),
    flush: () => decoder.decode()
  }
}

/** A decoder for vocabularies with byte fallback. It holds byte tokens back until a token that is not a byte follows. */
export const fromByteFallback = (fallback: ByteFallback.ByteFallback): IncrementalDecoder => {
  let pending: Array<number> = []
  let isAtStart = true
  const text = (tokens: ReadonlyArray<number>) => {
    const decoded = ByteFallback.decode(isAtStart ? fallback : { ...fallback, stripped: 0 }, tokens)
    isAtStart = isAtStart && tokens.length === 0
    return decoded
  }
  return {
    push: (tokens) => {
      pending.push(...Array.from(tokens))
      const complete = pending.findLastIndex((token) => !fallback.bytes.has(token)) + 1
      const ready = pending.slice(0, complete)
      pending = pending.slice(complete)
      return text(ready)
    },
    flush: () => {
      const rest = pending
      pending = []
      return text(rest)
    }
  }
}

/**
 * A decoder for any other vocabulary. It returns a push's text with the next push, and holds text back longer if it ends in U+FFFD or if
 * the next push changed it.
 */
export const fromDecode = (decode: (tokens: ReadonlyArray<number>) => string): IncrementalDecoder => {
  const all: Array<number> = []
  let [before, emitted] = ["", ""]
  return {
    push: (tokens) => {
      all.push(...Array.from(tokens))
      const text = decode(all)
      const isStable = text.startsWith(before) && before.startsWith(emitted) && !before.endsWith("\ufffd")
      const ready = isStable ? before.slice(emitted.length) : ""
      emitted += ready
      before = text
      return ready
    },
    flush: () => before.startsWith(emitted) ? before.slice(emitted.length) : ""
  }
}
