/** Model input as JSON. */
import { ModelInput, TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

const Text = Schema.Struct({ type: Schema.Literal("encoded_text"), tokens: Schema.Array(Schema.Int) })

const Image = Schema.Struct({
  type: Schema.Literal("image"),
  /** Base64. */
  data: Schema.String,
  format: Schema.Literals(["png", "jpeg"]),
  expected_tokens: Schema.optionalKey(Schema.NullOr(Schema.Int))
})

/** Kinds that no backend of this project reads: known so that they can be refused by name. */
const Other = Schema.Struct({ type: Schema.Literals(["image_asset_pointer", "dmel"]) })

export const Chunk = Schema.Union([Text, Image, Other])
export type Chunk = typeof Chunk.Type

export const Input = Schema.Struct({ chunks: Schema.Array(Chunk) })
export type Input = typeof Input.Type

export const fromModelInput = (input: ModelInput.ModelInput): Input => ({
  chunks: input.chunks.map((chunk): Chunk =>
    chunk._tag === "EncodedText"
      ? { type: "encoded_text", tokens: Array.from(chunk.tokens) }
      : {
        type: "image",
        data: Base64.encode(chunk.data),
        format: chunk.format,
        expected_tokens: chunk.expectedTokens
      }
  )
})

const rejected = (detail: string) => Effect.fail(new TinkerError.Rejected({ detail }))

const isInt32 = (value: number) => value === (value | 0)

const toChunk = (chunk: Chunk, index: number): Effect.Effect<ModelInput.Chunk, TinkerError.Rejected> => {
  const at = `chunks[${index}]`
  if (chunk.type === "encoded_text") {
    const outside = chunk.tokens.find((token) => !isInt32(token))
    return outside === undefined
      ? Effect.succeed({ _tag: "EncodedText", tokens: Int32Array.from(chunk.tokens) })
      : rejected(`${at}.tokens has ${outside}, expected token ids of 32 bits`)
  }
  if (chunk.type !== "image") return rejected(`${at}.type is ${chunk.type}, expected encoded_text or image`)
  const bytes = Base64.decode(chunk.data)
  if (Result.isFailure(bytes)) return rejected(`${at}.data is not base64`)
  return image(at, bytes.success, chunk.format, chunk.expected_tokens ?? undefined)
}

/** An image whose number of positions is given. */
export const image = (
  at: string,
  data: Uint8Array,
  format: string,
  expectedTokens: number | undefined
): Effect.Effect<ModelInput.Image, TinkerError.Rejected> => {
  if (format !== "png" && format !== "jpeg") return rejected(`${at}.format is "${format}", expected png or jpeg`)
  if (expectedTokens === undefined) return rejected(`${at}.expected_tokens is missing, expected the image's positions`)
  return Effect.succeed({ _tag: "Image", data, format, expectedTokens })
}

export const toModelInput = (input: Input): Effect.Effect<ModelInput.ModelInput, TinkerError.Rejected> =>
  Effect.map(Effect.forEach(input.chunks, toChunk), ModelInput.fromChunks)
