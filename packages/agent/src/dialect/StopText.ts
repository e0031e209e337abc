/** Ends a reply at a client's stop text, which may span several pieces of sampled tokens. */
import type { Tokenizer } from "@effect-rl/core/renderers"

export interface Found {
  /** Tokens that certainly belong to the reply. */
  readonly passed: Int32Array
  /** Tokens whose text ends with what may be the beginning of a stop text. */
  readonly held: Int32Array
  /** The stop text that was found; it and everything after it are dropped. */
  readonly stop: string | undefined
}

const none = new Int32Array(0)

const first = (text: string, stops: ReadonlyArray<string>) => {
  const [found] = stops
    .map((stop) => ({ stop, at: text.indexOf(stop) }))
    .filter(({ at }) => at >= 0)
    .toSorted((left, right) => left.at - right.at)
  return found
}

/** Whether the text ends with the beginning of a stop text. */
const endsWithBeginning = (text: string, stops: ReadonlyArray<string>) => {
  const longest = stops.reduce((length, stop) => Math.max(length, stop.length), 0) - 1
  const from = Math.max(text.length - longest, 0)
  const endings = Array.from({ length: text.length - from }, (_, index) => text.slice(from + index))
  return stops.some((stop) => endings.some((ending) => ending.length < stop.length && stop.startsWith(ending)))
}

/** Looks for the first stop text in the decoded tokens. */
export const find = (tokenizer: Tokenizer.Tokenizer, stops: ReadonlyArray<string>, tokens: Int32Array): Found => {
  if (stops.length === 0) return { passed: tokens, held: none, stop: undefined }
  const text = tokenizer.decode(tokens)
  const found = first(text, stops)
  if (found !== undefined) {
    return { passed: tokenizer.encode(text.slice(0, found.at)), held: none, stop: found.stop }
  }
  return endsWithBeginning(text, stops)
    ? { passed: none, held: tokens, stop: undefined }
    : { passed: tokens, held: none, stop: undefined }
}
