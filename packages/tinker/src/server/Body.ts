/** Reads request bodies. */
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import type * as Schema from "effect/Schema"
import * as Json from "../wire/Json.ts"
import { invalid, Refusal } from "./Refusal.ts"

const tooLarge = new Refusal({ status: 413, detail: "the request body is too large for this server, or was cut off" })

export const bytes = Effect.gen(function*() {
  const request = yield* HttpServerRequest.HttpServerRequest
  const encoding = request.headers["content-encoding"] ?? "identity"
  if (encoding !== "identity") {
    return yield* new Refusal({ status: 415, detail: `content-encoding is "${encoding}", expected none` })
  }
  return new Uint8Array(yield* Effect.mapError(request.arrayBuffer, () => tooLarge))
})

/** The body as `schema` describes it, and its text. */
export const json = <S extends Schema.Decoder<unknown>>(schema: S) => {
  const decode = Json.decodeText(schema)
  return Effect.flatMap(bytes, (bytes) => {
    const text = new TextDecoder().decode(bytes)
    return Effect.map(decode(text), (value) => ({ value, text }))
  }).pipe(Effect.catchTag("MalformedBody", ({ message }) => Effect.fail(invalid(message))))
}
