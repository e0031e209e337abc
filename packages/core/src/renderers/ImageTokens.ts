/**
 * Images in prompts: how a family frames them, and how many tokens each takes.
 *
 * @example
 * const tokens = ImageTokens.patchTokens({ patchSize: 16, mergeSize: 2, minPixels: 65_536, maxPixels: 16_777_216 })({
 *   width: 640,
 *   height: 480
 * })
 */
import * as Effect from "effect/Effect"
import type { ImagePart } from "../chat/Message.ts"
import { RendererError } from "../chat/Renderer.ts"
import type * as ModelInput from "../model/ModelInput.ts"
import * as ImageSize from "./ImageSize.ts"
import type * as Markup from "./Markup.ts"

/** Text or an image of a message, or text that a template writes around images. */
export type Written = string | Markup.Plain | ImagePart

/** Whether a piece is an image. */
export const isImage = (piece: Written): piece is ImagePart => typeof piece === "object" && "type" in piece

/** How one model family writes images. */
export interface Images {
  /** Control tokens around images. */
  readonly controls: ReadonlyArray<string>
  /** Adds the family's text around each image. */
  readonly wrap: (pieces: ReadonlyArray<Written>) => ReadonlyArray<Written>
  /** The number of tokens for an image of this size; absent if the family's preprocessing is not implemented here. */
  readonly count?: (size: ImageSize.ImageSize) => number
}

/** Puts each image between two texts. */
export const between = (before: string, after: string): Images["wrap"] => (pieces) =>
  pieces.flatMap((piece): ReadonlyArray<Written> => isImage(piece) ? [before, piece, after] : [piece])

/** The largest aspect ratio that the models accept. */
const thinnest = 200

const problem = (size: ImageSize.ImageSize | undefined, { data, format }: ImagePart): string => {
  if (size === undefined) return `an image of ${data.length} bytes is not a ${format}`
  return isThin(size)
    ? `an image of ${size.width} by ${size.height} pixels is too thin, expected sides of at most 1 to ${thinnest}`
    : "how many tokens an image takes is not known for this family; give expectedTokens with each image part"
}

const isThin = ({ height, width }: ImageSize.ImageSize) => Math.max(height, width) / Math.min(height, width) > thinnest

const counted = (renderer: string, count: Images["count"], part: ImagePart): Effect.Effect<number, RendererError> => {
  const size = ImageSize.read(part)
  return count === undefined || size === undefined || isThin(size)
    ? Effect.fail(new RendererError({ renderer, detail: problem(size, part) }))
    : Effect.succeed(count(size))
}

/** The chunk of an image part. If the part states no token count, it is computed from the image's size. */
const toImage = (
  renderer: string,
  { count }: Images,
  part: ImagePart
): Effect.Effect<ModelInput.Image, RendererError> => {
  const { data, format } = part
  const tokens = part.expectedTokens === undefined
    ? counted(renderer, count, part)
    : Effect.succeed(part.expectedTokens)
  return Effect.map(tokens, (expectedTokens) => ({ _tag: "Image", data, format, expectedTokens }))
}

/** Converts the pieces to tokens and images; the text between two images is tokenized as a whole. */
export const encode = Effect.fnUntraced(function*(
  renderer: string,
  images: Images,
  encoder: Markup.Encoder,
  pieces: ReadonlyArray<Written>
): Effect.fn.Return<ReadonlyArray<Int32Array | ModelInput.Image>, RendererError> {
  const encoded: Array<Int32Array | ModelInput.Image> = []
  let text: Array<Markup.Markup> = []
  for (const piece of pieces) {
    if (!isImage(piece)) {
      text.push(piece)
      continue
    }
    encoded.push(encoder.encode(text), yield* toImage(renderer, images, piece))
    text = []
  }
  return [...encoded, encoder.encode(text)]
})

/** How a Qwen-VL image processor cuts an image into patches. The limits are pixel counts of the whole image. */
export interface Patches {
  readonly patchSize: number
  /** A token covers a square of this many patches per side. */
  readonly mergeSize: number
  readonly minPixels: number
  readonly maxPixels: number
}

/** Python's `round`: rounds halves to even. */
const round = (value: number): number => {
  const rounded = Math.round(value)
  return Math.abs(value % 1) === 0.5 && rounded % 2 !== 0 ? rounded - 1 : rounded
}

/**
 * The number of tokens for an image after scaling. The image is scaled so its pixel count lies within the limits, and its proportions are
 * kept as far as whole tokens allow.
 *
 * @see transformers `smart_resize` of Qwen2-VL
 */
export const patchTokens = ({ maxPixels, mergeSize, minPixels, patchSize }: Patches) => (size: ImageSize.ImageSize) => {
  const unit = patchSize * mergeSize
  const { height, width } = size
  const rows = round(height / unit)
  const columns = round(width / unit)
  const pixels = rows * columns * unit * unit
  if (pixels > maxPixels) {
    const shrink = Math.sqrt(height * width / maxPixels)
    const fit = (side: number) => Math.max(1, Math.floor(side / shrink / unit))
    return fit(height) * fit(width)
  }
  if (pixels < minPixels) {
    const grow = Math.sqrt(minPixels / (height * width))
    return Math.ceil(height * grow / unit) * Math.ceil(width * grow / unit)
  }
  return rows * columns
}
