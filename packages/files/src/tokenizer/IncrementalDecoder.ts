/** Text of tokens as they arrive. */
import * as ByteFallback from "./ByteFallback.ts"
import * as ByteLevel from "./ByteLevel.ts"

/**
 * The joined texts of all pushes and of `flush` are the text of all tokens together.
 *
 * @example
 * const shown = (decoder: IncrementalDecoder.IncrementalDecoder) => decoder.push([12]) + decoder.push([55]) + decoder.flush()
 */
export interface IncrementalDecoder {
  /** Text that no later token can change; a character whose bytes are not complete yet is held back. */
  readonly push: (tokens: ArrayLike<number>) => string
  /** The text that is still held back at the end. */
  readonly flush: () => string
}

/** A decoder for vocabularies of bytes. */
export const fromTokenBytes = (table: ByteLevel.TokenBytes): IncrementalDecoder => {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
  return {
    push: (tokens) =>
      Array.from(tokens, (token) => decoder.decode(ByteLevel.bytesOfToken(table, token), { stream: true })).join(""),
    flush: () => decoder.decode()
  }
}

/** A decoder for vocabularies of pieces and bytes: bytes are held back up to the next piece. */
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

/** A decoder for any other vocabulary: holds text back while more tokens may still change it. */
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
