/** Prompts as differences from an earlier sequence: a shared prefix is counted, not repeated. */
import * as Schema from "effect/Schema"
import * as ModelInput from "../../model/ModelInput.ts"
import * as Base64Array from "./Base64Array.ts"

/** Text that keeps `keep` tokens of the earlier sequence, followed by new `tokens`. */
const Text = Schema.Struct({ keep: Schema.Natural, tokens: Base64Array.int32 })

const NewImage = Schema.Struct({
  image: Schema.Uint8ArrayFromBase64,
  format: Schema.Literals(["png", "jpeg"]),
  expectedTokens: Schema.Natural
})

/** Keeps the next image of the earlier sequence. */
const KeptImage = Schema.Struct({ keepImage: Schema.Literal(true) })

/** The chunks of a prompt. */
export const PromptDelta = Schema.Array(Schema.Union([Text, NewImage, KeptImage]))
export type PromptDelta = typeof PromptDelta.Type

/** The JSON form of a prompt delta. */
export type Encoded = typeof PromptDelta.Encoded

/** An earlier sequence, against which prompts are encoded. */
export type Base = ReadonlyArray<ModelInput.Chunk>

/** The base of a group's first prompt. */
export const empty: Base = []

/** The base that consists of a prompt and the tokens sampled after it. */
export const base = ({ chunks }: ModelInput.ModelInput, sampled?: Int32Array): Base =>
  sampled === undefined ? chunks : [...chunks, { _tag: "EncodedText", tokens: sampled }]

/** A position between two tokens or images of a sequence. */
interface Place {
  chunk: number
  offset: number
}

const start = (): Place => ({ chunk: 0, offset: 0 })

/** The text at the position; `undefined` at an image and at the end. */
const textAt = (base: Base, place: Place): Int32Array | undefined => {
  for (;;) {
    const chunk = base[place.chunk]
    if (chunk?._tag !== "EncodedText") return undefined
    if (place.offset < chunk.tokens.length) return chunk.tokens
    place.chunk++
    place.offset = 0
  }
}

const imageAt = (base: Base, place: Place): ModelInput.Image | undefined => {
  if (textAt(base, place) !== undefined) return undefined
  const chunk = base[place.chunk]
  return chunk?._tag === "Image" ? chunk : undefined
}

/** Advances the position over the tokens that match the start of `tokens`; returns their number. */
const passShared = (base: Base, place: Place, tokens: Int32Array): number => {
  let shared = 0
  for (let text = textAt(base, place); text !== undefined; text = textAt(base, place)) {
    const from = place.offset - shared
    const end = Math.min(text.length - from, tokens.length)
    while (shared < end && text[from + shared] === tokens[shared]) shared++
    place.offset = from + shared
    if (place.offset < text.length) break
  }
  return shared
}

/** The number of tokens from the position to the next image or the end. */
const textLeft = (base: Base, { chunk, offset }: Place): number => {
  let left = -offset
  for (let index = chunk; index < base.length; index++) {
    const text = base[index]
    if (text?._tag !== "EncodedText") break
    left += text.tokens.length
  }
  return left
}

/** Fills `target` with text from the position on, and advances the position. */
const passInto = (base: Base, place: Place, target: Int32Array) => {
  let filled = 0
  for (let text = textAt(base, place); text !== undefined; text = textAt(base, place)) {
    const part = text.subarray(place.offset, place.offset + target.length - filled)
    target.set(part, filled)
    filled += part.length
    place.offset += part.length
    if (filled === target.length) break
  }
}

const encodeImage = ({ data, expectedTokens, format }: ModelInput.Image): Encoded[number] => ({
  image: Base64Array.encode(data),
  format,
  expectedTokens
})

/** Encodes the prompt as its difference from `base`. */
export const encode = (base: Base, { chunks }: ModelInput.ModelInput): Encoded => {
  const place = start()
  let isShared = true
  return chunks.map((chunk) => {
    if (chunk._tag === "Image") {
      const kept = isShared ? imageAt(base, place) : undefined
      isShared = kept !== undefined && ModelInput.sameImage(kept, chunk)
      if (!isShared) return encodeImage(chunk)
      place.chunk++
      return { keepImage: true }
    }
    const { tokens } = chunk
    const keep = isShared ? passShared(base, place, tokens) : 0
    isShared = isShared && keep === tokens.length
    return { keep, tokens: Base64Array.encode(tokens, keep) }
  })
}

/** Applies the difference to `base`; `undefined` if it refers to something that `base` does not contain. */
export const decode = (base: Base, delta: PromptDelta): ModelInput.ModelInput | undefined => {
  const chunks: Array<ModelInput.Chunk> = []
  const place = start()
  let length = 0
  for (const part of delta) {
    if ("keepImage" in part) {
      const image = imageAt(base, place)
      if (image === undefined) return undefined
      place.chunk++
      chunks.push(image)
      length += image.expectedTokens
    } else if ("image" in part) {
      const { expectedTokens, format, image } = part
      chunks.push({ _tag: "Image", data: image, format, expectedTokens })
      length += expectedTokens
    } else {
      const { keep, tokens } = part
      if (keep > textLeft(base, place)) return undefined
      const text = new Int32Array(keep + tokens.length)
      passInto(base, place, text.subarray(0, keep))
      text.set(tokens, keep)
      chunks.push({ _tag: "EncodedText", tokens: text })
      length += text.length
    }
  }
  return { chunks, length }
}
