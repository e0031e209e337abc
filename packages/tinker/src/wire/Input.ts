/** Model input as JSON. */
import * as TinkerError from "@effect-rl/core/backend/TinkerError"
import * as ModelInput from "@effect-rl/core/model/ModelInput"
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { Ints } from "./Numbers.ts"

/** Official SDKs up to 0.16.1 omit `type`, so a chunk is recognized by its other keys. */
const type = <const L extends string>(literal: L) => Schema.optionalKey(Schema.Literal(literal))

const Text = Schema.Struct({ type: type("encoded_text"), tokens: Ints })

const Image = Schema.Struct({
  type: type("image"),
  /** The image file in base64. */
  data: Schema.String,
  format: Schema.String,
  expected_tokens: Schema.optionalKey(Schema.NullOr(Schema.Int)),
  override_dimensions: Schema.optionalKey(Schema.Unknown)
})

/** Chunk types that no backend of this project supports. These chunks are decoded so the refusal can name their type. */
const Dmel = Schema.Struct({ type: type("dmel"), dmel: Schema.String })
const Pointer = Schema.Struct({
  type: type("image_asset_pointer"),
  location: Schema.String,
  format: Schema.optionalKey(Schema.Unknown),
  expected_tokens: Schema.optionalKey(Schema.Unknown)
})

export const Chunk = Schema.Union([Text, Image, Dmel, Pointer])
export type Chunk = typeof Chunk.Type

export const Input = Schema.Struct({ chunks: Schema.Array(Chunk) })
export type Input = typeof Input.Type

const imageText = ({ data, expectedTokens, format }: ModelInput.Image) =>
  JSON.stringify({ type: "image", data: Base64.encode(data), format, expected_tokens: expectedTokens })

/** The JSON text of an input in parts, with tokens as arrays. */
export const texts = ({ chunks }: ModelInput.ModelInput): ReadonlyArray<string | Int32Array> => [
  "{\"chunks\":[",
  ...chunks.flatMap((chunk, index) => {
    const comma = index === 0 ? "" : ","
    return chunk._tag === "EncodedText"
      ? [`${comma}{"type":"encoded_text","tokens":[`, chunk.tokens, "]}"]
      : [comma + imageText(chunk)]
  }),
  "]}"
]

const rejected = (detail: string) => Effect.fail(new TinkerError.Rejected({ detail }))

const isInt32 = (value: number) => value === (value | 0)

/** The name of an unsupported chunk type. */
export const otherName = (chunk: Chunk) => "dmel" in chunk ? "dmel" : "image_asset_pointer"

const toChunk = (chunk: Chunk, index: number): Effect.Effect<ModelInput.Chunk, TinkerError.Rejected> => {
  const at = `chunks[${index}]`
  if ("tokens" in chunk) {
    const outside = chunk.tokens.find((token) => !isInt32(token))
    return outside === undefined
      ? Effect.succeed({ _tag: "EncodedText", tokens: new Int32Array(chunk.tokens) })
      : rejected(`${at}.tokens has ${outside}, expected token ids of 32 bits`)
  }
  if (!("data" in chunk)) return rejected(`${at}.type is ${otherName(chunk)}, expected encoded_text or image`)
  if ((chunk.override_dimensions ?? undefined) !== undefined) {
    return rejected(`${at}.override_dimensions is not supported by this server, expected it to be absent`)
  }
  const bytes = Base64.decode(chunk.data)
  if (Result.isFailure(bytes)) return rejected(`${at}.data is not base64`)
  return image(at, bytes.success, chunk.format, chunk.expected_tokens ?? undefined)
}

/** An image chunk. Fails unless the format is png or jpeg and `expectedTokens`, the number of positions, is given. */
export const image = (
  at: string,
  data: Uint8Array,
  format: string,
  expectedTokens: number | undefined
): Effect.Effect<ModelInput.Image, TinkerError.Rejected> => {
  if (format !== "png" && format !== "jpeg") return rejected(`${at}.format is "${format}", expected png or jpeg`)
  if (expectedTokens === undefined) {
    const detail = `${at} is an image without expected_tokens: give the number of positions that it takes`
    return rejected(detail)
  }
  return Effect.succeed({ _tag: "Image", data, format, expectedTokens })
}

export const toModelInput = (input: Input): Effect.Effect<ModelInput.ModelInput, TinkerError.Rejected> =>
  Effect.map(Effect.forEach(input.chunks, toChunk), ModelInput.fromChunks)
