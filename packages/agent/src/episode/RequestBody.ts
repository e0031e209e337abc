/** Reads the text of a request body up to a size limit. */
import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import * as HttpIncomingMessage from "effect/http/HttpIncomingMessage"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import { Refusal } from "../dialect/Refusal.ts"

/** Maximum body size. Conversations with images are the largest bodies. */
const most = ByteSize.mebibytes(32)

export const mostBytes = ByteSize.toNumberUnsafe(most)

const refused = new Refusal({
  status: 413,
  detail: `the body was cut off, or is too large, expected at most ${mostBytes} bytes`
})

export const text: Effect.Effect<string, Refusal, HttpServerRequest.HttpServerRequest> = Effect.flatMap(
  HttpServerRequest.HttpServerRequest,
  (request) =>
    Number(request.headers["content-length"] ?? 0) > mostBytes
      ? Effect.fail(refused)
      : request.text.pipe(
        Effect.provideService(HttpIncomingMessage.MaxBodySize, most),
        Effect.mapError(() => refused)
      )
)
