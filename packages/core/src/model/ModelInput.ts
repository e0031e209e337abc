/**
 * What a model reads: text tokens and images, in order.
 *
 * @example
 * const prompt = ModelInput.append(ModelInput.fromTokens(tokenizer.encode("2 + 2 =")), [220])
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** A chunk of text, as token ids. */
export interface EncodedText {
  readonly _tag: "EncodedText"
  readonly tokens: Int32Array
}

/** An encoded image, and the number of positions it takes in the sequence. */
export interface Image {
  readonly _tag: "Image"
  readonly data: Uint8Array
  readonly format: "png" | "jpeg"
  readonly expectedTokens: number
}

/** A part of an input: text tokens or an image. */
export type Chunk = EncodedText | Image

/**
 * A sequence of chunks. `length` is the number of positions.
 *
 * @see tinker `ModelInput`
 */
export interface ModelInput {
  readonly chunks: ReadonlyArray<Chunk>
  readonly length: number
}

/** The input contains an image, but only token ids are supported here. */
export class NotText extends Schema.TaggedError<NotText>()("NotText", { chunk: Schema.Int, found: Schema.String }) {
  override get message() {
    return `chunk ${this.chunk} is ${this.found}, expected text`
  }
}

/** An input without positions. */
export const empty: ModelInput = { chunks: [], length: 0 }

const chunkLength = (chunk: Chunk) => chunk._tag === "Image" ? chunk.expectedTokens : chunk.tokens.length

/** Creates an input from chunks. Adjacent text chunks stay separate; empty chunks are dropped, because the service rejects them. */
export const fromChunks = (chunks: ReadonlyArray<Chunk>): ModelInput => {
  const kept = chunks.filter((chunk) => chunkLength(chunk) > 0)
  return { chunks: kept, length: kept.reduce((length, chunk) => length + chunkLength(chunk), 0) }
}

/** Appends `tokens` as one more text chunk. Without tokens, the input stays unchanged. */
export const append = (self: ModelInput, tokens: ArrayLike<number>): ModelInput =>
  tokens.length === 0 ? self : {
    chunks: [...self.chunks, { _tag: "EncodedText", tokens: new Int32Array(tokens) }],
    length: self.length + tokens.length
  }

/** An input of one text chunk, or an empty input if there are no tokens. */
export const fromTokens = (tokens: ArrayLike<number>): ModelInput => append(empty, tokens)

/** Concatenates two inputs. */
export const concat = (self: ModelInput, that: ModelInput): ModelInput => fromChunks([...self.chunks, ...that.chunks])

/** The first `length` positions. An image that does not fit is left out, together with everything after it. */
export const take = (self: ModelInput, length: number): ModelInput => {
  const kept: Array<Chunk> = []
  let left = length
  for (const chunk of self.chunks) {
    const size = chunkLength(chunk)
    if (size > left && chunk._tag === "Image") break
    kept.push(
      size > left && chunk._tag === "EncodedText" ? { ...chunk, tokens: chunk.tokens.subarray(0, left) } : chunk
    )
    if (size >= left) break
    left -= size
  }
  return fromChunks(kept)
}

/** All token ids. Fails if a chunk is not text. */
export const toTokens = (self: ModelInput): Effect.Effect<Int32Array, NotText> =>
  Effect.suspend(() => {
    const tokens = new Int32Array(self.length)
    let at = 0
    for (const [index, chunk] of self.chunks.entries()) {
      if (chunk._tag !== "EncodedText") return Effect.fail(new NotText({ chunk: index, found: chunk._tag }))
      tokens.set(chunk.tokens, at)
      at += chunk.tokens.length
    }
    return Effect.succeed(tokens)
  })

const sameBytes = (left: ArrayLike<number>, right: ArrayLike<number>) => {
  if (left.length !== right.length) return false
  for (let i = 0; i < left.length; i++) if (left[i] !== right[i]) return false
  return true
}

/** Compares two images by value. */
export const sameImage = (left: Image, right: Image) =>
  left.format === right.format && left.expectedTokens === right.expectedTokens && sameBytes(left.data, right.data)

/** The part of the input after `prefix`; `undefined` if the input does not begin with it. The division of text into chunks does not matter. */
export const after = (self: ModelInput, prefix: ModelInput): ModelInput | undefined => {
  let index = 0
  let offset = 0
  for (const expected of prefix.chunks) {
    let chunk = self.chunks[index]
    if (expected._tag === "Image") {
      if (chunk?._tag !== "Image" || !sameImage(chunk, expected)) return undefined
      index++
      continue
    }
    if (offset === 0 && chunk?._tag === "EncodedText" && chunk.tokens === expected.tokens) {
      index++
      continue
    }
    for (const token of expected.tokens) {
      if (chunk?._tag !== "EncodedText" || chunk.tokens[offset] !== token) return undefined
      if (++offset < chunk.tokens.length) continue
      chunk = self.chunks[++index]
      offset = 0
    }
  }
  return fromChunks(
    self.chunks.slice(index).map((chunk, at) =>
      at === 0 && chunk._tag === "EncodedText" ? { ...chunk, tokens: chunk.tokens.subarray(offset) } : chunk
    )
  )
}

const sameChunk = (left: Chunk, right: Chunk | undefined) => {
  if (left === right) return true
  return left._tag === "Image"
    ? right?._tag === "Image" && sameImage(left, right)
    : right?._tag === "EncodedText" && sameBytes(left.tokens, right.tokens)
}

/** Compares two inputs by value, chunk by chunk. */
export const equals = (left: ModelInput, right: ModelInput) =>
  left === right
  || (left.length === right.length
    && left.chunks.length === right.chunks.length
    && left.chunks.every((chunk, index) => sameChunk(chunk, right.chunks[index])))
