/** Reads request bodies, compressed or not, up to the server's limit. */
import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import * as HttpIncomingMessage from "effect/http/HttpIncomingMessage"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import type * as Schema from "effect/Schema"
import { zstdDecompress } from "node:zlib"
import * as Json from "../wire/Json.ts"
import { invalid, Refusal } from "./Refusal.ts"

const tooLarge = new Refusal({ status: 413, detail: "the request body is too large for this server, or was cut off" })

const isOverflow = (error: Error) => "code" in error && error.code === "ERR_BUFFER_TOO_LARGE"

const decompress = (bytes: Uint8Array, limit: ByteSize.ByteSize | undefined) =>
  Effect.callback<Uint8Array, Refusal>((resume) =>
    zstdDecompress(
      bytes,
      limit === undefined ? {} : { maxOutputLength: ByteSize.toNumberUnsafe(limit) },
      (error, content) =>
        resume(
          error === null
            ? Effect.succeed(content)
            : Effect.fail(isOverflow(error) ? tooLarge : invalid(`the body is no zstd: ${error.message}`))
        )
    )
  )

/** The limit holds for what a body unpacks to as well. */
export const bytes = Effect.gen(function*() {
  const request = yield* HttpServerRequest.HttpServerRequest
  const limit = yield* HttpIncomingMessage.MaxBodySize
  const encoding = request.headers["content-encoding"] ?? "identity"
  if (encoding !== "identity" && encoding !== "zstd") {
    const detail = `content-encoding is "${encoding}", expected zstd or none`
    return yield* new Refusal({ status: 415, detail, headers: { "accept-encoding": "zstd" } })
  }
  const sent = new Uint8Array(yield* Effect.mapError(request.arrayBuffer, () => tooLarge))
  return encoding === "zstd" ? yield* decompress(sent, limit) : sent
})

export const text = Effect.map(bytes, (bytes) => new TextDecoder().decode(bytes))

/** The text as `schema` describes it. */
export const parse = <S extends Schema.Decoder<unknown>>(schema: S) => {
  const decode = Json.decodeText(schema)
  return (text: string): Effect.Effect<S["Type"], Refusal> =>
    Effect.mapError(decode(text), ({ message }) => invalid(message))
}

/** The body as `schema` describes it, and its text. */
export const json = <S extends Schema.Decoder<unknown>>(schema: S) => {
  const read = parse(schema)
  return Effect.flatMap(text, (text) => Effect.map(read(text), (value) => ({ value, text })))
}
