/** Prompts written as their difference from an earlier sequence: what they share with its beginning is counted, not repeated. */
import * as Schema from "effect/Schema"
import * as ModelInput from "../model/ModelInput.ts"
import * as Base64Array from "./Base64Array.ts"

/** Text that begins with `keep` tokens of the earlier sequence and goes on with new `tokens`. */
const Text = Schema.Struct({ keep: Schema.Natural, tokens: Base64Array.int32 })

const NewImage = Schema.Struct({
  image: Schema.Uint8ArrayFromBase64,
  format: Schema.Literals(["png", "jpeg"]),
  expectedTokens: Schema.Natural
})

/** The next image of the earlier sequence. */
const KeptImage = Schema.Struct({ keepImage: Schema.Literal(true) })

/** The chunks of a prompt. */
export const PromptDelta = Schema.Array(Schema.Union([Text, NewImage, KeptImage]))
export type PromptDelta = typeof PromptDelta.Type

/** A prompt delta as JSON holds it. */
export type Encoded = typeof PromptDelta.Encoded

/** An earlier sequence with an image's place held by one entry of `tokens`. */
export interface Base {
  readonly tokens: Int32Array
  readonly images: ReadonlyMap<number, ModelInput.Image>
}

const noImages: ReadonlyMap<number, ModelInput.Image> = new Map()

/** The sequence before a group's first prompt. */
export const empty: Base = { tokens: new Int32Array(0), images: noImages }

const imagesOf = (chunks: ReadonlyArray<ModelInput.Chunk>): Base["images"] => {
  if (!chunks.some(({ _tag }) => _tag === "Image")) return noImages
  const images = new Map<number, ModelInput.Image>()
  let at = 0
  for (const chunk of chunks) {
    if (chunk._tag === "Image") images.set(at++, chunk)
    else at += chunk.tokens.length
  }
  return images
}

/** A prompt, and the tokens that were sampled after it. */
export const base = ({ chunks }: ModelInput.ModelInput, sampled: Int32Array = empty.tokens): Base => {
  let size = sampled.length
  for (const chunk of chunks) size += chunk._tag === "Image" ? 1 : chunk.tokens.length
  const tokens = new Int32Array(size)
  let at = 0
  for (const chunk of chunks) {
    if (chunk._tag === "EncodedText") tokens.set(chunk.tokens, at)
    at += chunk._tag === "Image" ? 1 : chunk.tokens.length
  }
  tokens.set(sampled, at)
  return { tokens, images: imagesOf(chunks) }
}

/** Where the text that begins at `from` ends: at the next image, or with the sequence. */
const textEnd = ({ images, tokens }: Base, from: number): number => {
  let end = tokens.length
  if (images.size === 0) return end
  for (const at of images.keys()) if (at >= from && at < end) end = at
  return end
}

const encodeImage = ({ data, expectedTokens, format }: ModelInput.Image): Encoded[number] => ({
  image: Base64Array.encode(data),
  format,
  expectedTokens
})

/** The prompt as its difference from `base`. */
export const encode = (base: Base, { chunks }: ModelInput.ModelInput): Encoded => {
  let at = 0
  let isShared = true
  return chunks.map((chunk) => {
    if (chunk._tag === "Image") {
      const kept = isShared ? base.images.get(at) : undefined
      isShared = kept !== undefined && ModelInput.sameImage(kept, chunk)
      if (!isShared) return encodeImage(chunk)
      at++
      return { keepImage: true }
    }
    const { tokens } = chunk
    const most = isShared ? Math.min(tokens.length, textEnd(base, at) - at) : 0
    let keep = 0
    while (keep < most && base.tokens[at + keep] === tokens[keep]) keep++
    at += keep
    isShared = isShared && keep === tokens.length
    return { keep, tokens: Base64Array.encode(tokens.subarray(keep)) }
  })
}

/** The prompt that differs so from `base`; `undefined` where it keeps something that `base` does not have. */
export const decode = (base: Base, delta: PromptDelta): ModelInput.ModelInput | undefined => {
  const chunks: Array<ModelInput.Chunk> = []
  let at = 0
  let length = 0
  for (const part of delta) {
    if ("keepImage" in part) {
      const image = base.images.get(at++)
      if (image === undefined) return undefined
      chunks.push(image)
      length += image.expectedTokens
    } else if ("image" in part) {
      const { expectedTokens, format, image } = part
      chunks.push({ _tag: "Image", data: image, format, expectedTokens })
      length += expectedTokens
    } else {
      const { keep, tokens } = part
      if (keep > textEnd(base, at) - at) return undefined
      const text = new Int32Array(keep + tokens.length)
      text.set(base.tokens.subarray(at, at + keep))
      text.set(tokens, keep)
      chunks.push({ _tag: "EncodedText", tokens: text })
      at += keep
      length += text.length
    }
  }
  return { chunks, length }
}
