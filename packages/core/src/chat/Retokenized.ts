/**
 * A response in the tokens of another model, aligned by bytes: both tokenizations stand for the same text, and between two places where
 * both have a token boundary, the tokens of one span the same bytes as those of the other.
 *
 * @example
 * const boundaries = Retokenized.align([1, 3, 4], [3, 4])
 * Array.from(boundaries.own) // => [0, 2, 3]
 * Array.from(boundaries.other) // => [0, 1, 2]
 */
import type * as Sampling from "../model/Sampling.ts"
import type { Renderer } from "./Renderer.ts"
import * as Tokenizer from "./Tokenizer.ts"
import * as TokenText from "./TokenText.ts"

/**
 * Spans of the same bytes in two tokenizations. Span `s` has the tokens `own[s]` to `own[s + 1]` (exclusive) of one and `other[s]` to
 * `other[s + 1]` of the other. The spans are as short as possible and cover everything up to the last common boundary.
 */
export interface Spans {
  readonly own: Int32Array
  readonly other: Int32Array
}

/**
 * The spans between common boundaries. The arguments are the position after each token, in bytes, ascending. A token without bytes belongs
 * to the span before it, unless the other tokenization has one at the same place.
 */
export const align = (ownEnds: ReadonlyArray<number>, otherEnds: ReadonlyArray<number>): Spans => {
  const own = [0]
  const other = [0]
  let [i, j, matched] = [0, 0, -1]
  while (i < ownEnds.length || j < otherEnds.length) {
    const ownEnd = ownEnds[i] ?? Infinity
    const otherEnd = otherEnds[j] ?? Infinity
    if (ownEnd <= otherEnd) i++
    if (otherEnd <= ownEnd) j++
    if (ownEnd === otherEnd) {
      own.push(i)
      other.push(j)
      matched = ownEnd
    } else if (ownEnd === matched) own[own.length - 1] = i
    else if (otherEnd === matched) other[other.length - 1] = j
  }
  return { own: Int32Array.from(own), other: Int32Array.from(other) }
}

/** A tokenizer whose tokens stand for bytes. */
export interface ByteTokenizer extends Tokenizer.Tokenizer {
  readonly bytesOf: (token: number) => Uint8Array
}

/** Whether the tokenizer's tokens stand for bytes. */
export const hasBytes = (tokenizer: Tokenizer.Tokenizer): tokenizer is ByteTokenizer => tokenizer.bytesOf !== undefined

/** The tokenizer and the renderer with which a model writes its responses. */
export interface Language {
  readonly tokenizer: ByteTokenizer
  readonly renderer: Pick<Renderer, "stop">
}

type Action = Pick<Sampling.SampledTokens, "tokens" | "stopReason">

/** A response in the tokens of another model, aligned with the original tokens. */
export interface Retokenized {
  readonly tokens: Int32Array
  readonly spans: Spans
  /** False if the end is left out, because the other tokenizer cannot encode its bytes, such as half a character. */
  readonly isWhole: boolean
}

/** The bytes of tokens, and the position after each token. */
const bytesOf = ({ bytesOf }: ByteTokenizer, tokens: Int32Array) => {
  const parts = Array.from(tokens, (token) => bytesOf(token))
  const ends: Array<number> = []
  for (const part of parts) ends.push((ends.at(-1) ?? 0) + part.length)
  const bytes = new Uint8Array(ends.at(-1) ?? 0)
  for (const [index, part] of parts.entries()) bytes.set(part, (ends[index] ?? 0) - part.length)
  return { bytes, ends }
}

/** A part of a response: a special token, the stop, or ordinary text. `end` is the position after it, in bytes. */
interface Piece {
  readonly kind: "special" | "stop" | "text"
  readonly text: string
  readonly end: number
}

/** Divides a text that ends with one of the stops, such as "\n\nUser:", before the stop. */
const withStop = (text: string, end: number, stop: Sampling.Stop): ReadonlyArray<Piece> => {
  const start = Math.max(-1, ...stop.map((stop) => typeof stop === "string" ? text.lastIndexOf(stop) : -1))
  if (start < 0) return [{ kind: "text", text, end }]
  return [
    { kind: "text", text: text.slice(0, start), end: end - TokenText.byteLength(text.slice(start)) },
    { kind: "stop", text: text.slice(start), end }
  ]
}

const pieces = (
  { stopReason, tokens }: Action,
  { renderer: { stop }, tokenizer }: Language,
  ends: ReadonlyArray<number>
): ReadonlyArray<Piece> => {
  const isStopped = stopReason === "stop"
  const found: Array<Piece> = []
  let start = 0
  for (const [index, token] of tokens.entries()) {
    const isLast = index === tokens.length - 1
    const isStop = isLast && isStopped && stop.some((end) => end === token)
    const isSpecial = Tokenizer.isSpecial(tokenizer, token)
    if (!isStop && !isSpecial && !isLast) continue
    const isText = !isStop && !isSpecial
    const text = tokenizer.decode(tokens.subarray(start, isText ? index + 1 : index))
    if (text !== "") {
      const end = ends[isText ? index : index - 1] ?? 0
      found.push(...(isText && isStopped ? withStop(text, end, stop) : [{ kind: "text" as const, text, end }]))
    }
    if (!isText) {
      const kind = isStop || (isLast && isStopped) ? "stop" : "special"
      found.push({ kind, text: tokenizer.decode([token]), end: ends[index] ?? 0 })
    }
    start = index + 1
  }
  return found
}

/**
 * The tokens with which the model of `renderer` ends a response that ended with `text`: the same special token if this model ends responses
 * with it, else the model's first stop, if there is one.
 */
const stopTokens = ({ renderer: { stop }, tokenizer }: Language, text: string): ReadonlyArray<number> => {
  const same = tokenizer.specialToken(text)
  if (same !== undefined && (same === tokenizer.eosTokenId || stop.some((end) => end === same || end === text))) {
    return [same]
  }
  const [first] = stop
  if (first === undefined) return []
  return typeof first === "number" ? [first] : Array.from(tokenizer.encode(first))
}

const startsWith = (bytes: Uint8Array, at: number, part: Uint8Array) =>
  part.every((byte, index) => byte === bytes[at + index])

const isSame = (from: Language, to: Language) =>
  from.tokenizer.fingerprint === to.tokenizer.fingerprint &&
  from.renderer.stop.length === to.renderer.stop.length &&
  from.renderer.stop.every((end, index) => end === to.renderer.stop[index])

/**
 * Writes a response in the tokens of another model. If both models have the same tokenizer and stop, the tokens stay the same. Otherwise
 * text is encoded again, special tokens become the special tokens of the same name, or text if there are none, and the stop becomes the
 * other model's stop.
 */
export const response = (action: Action, from: Language, to: Language): Retokenized => {
  const { bytes, ends } = bytesOf(from.tokenizer, action.tokens)
  if (isSame(from, to)) return { tokens: action.tokens, spans: align(ends, ends), isWhole: true }
  const tokens: Array<number> = []
  const otherEnds: Array<number> = []
  let at = 0
  const write = (token: number, end: number) => {
    tokens.push(token)
    otherEnds.push(end)
    at = end
  }
  const writeText = (text: string) => {
    for (const token of to.tokenizer.encode(text, { splitSpecialTokens: true })) {
      const part = to.tokenizer.bytesOf(token)
      if (!startsWith(bytes, at, part)) return
      write(token, at + part.length)
    }
  }
  const writeStop = (text: string, end: number) => {
    // A stop is aligned as a whole: the ends of all its tokens but the last are placed between two bytes, where the text has no boundary.
    const start = at
    const stop = stopTokens(to, text)
    for (const token of stop.slice(0, -1)) write(token, Math.min(start + 0.5, end))
    for (const token of stop.slice(-1)) write(token, end)
  }
  for (const { end, kind, text } of pieces(action, from, ends)) {
    const special = kind === "special" ? to.tokenizer.specialToken(text) : undefined
    if (kind === "stop") writeStop(text, end)
    else if (special !== undefined) write(special, end)
    else writeText(text)
    if (at !== end) break
  }
  const spans = align(ends, otherEnds)
  return { tokens: Int32Array.from(tokens), spans, isWhole: spans.own.at(-1) === action.tokens.length }
}
