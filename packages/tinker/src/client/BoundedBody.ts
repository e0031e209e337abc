/** Reads the body of an answer up to a limit, because a faulty service may send endlessly. */
import * as Effect from "effect/Effect"
import type * as HttpClientError from "effect/http/HttpClientError"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Stream from "effect/Stream"
import * as WireError from "./WireError.ts"

type Response = HttpClientResponse.HttpClientResponse

/**
 * The declared body length, which the connection enforces. Undefined for a compressed body, whose length says nothing about its content.
 */
const framedLength = ({ headers }: Response) => {
  const length = Number(headers["content-length"] ?? NaN)
  return headers["content-encoding"] === undefined && Number.isSafeInteger(length) ? length : undefined
}

const tooLarge = (limit: number) => WireError.make(new WireError.TooLarge({ limit }))

const joined = (chunks: ReadonlyArray<Uint8Array>, length: number) => {
  const whole = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.length
  }
  return whole
}

/** Stops reading and closes the connection at the first byte above the limit. */
const streamed = Effect.fnUntraced(function*(response: Response, limit: number) {
  const chunks: Array<Uint8Array> = []
  let length = 0
  yield* Stream.runForEach(response.stream, (chunk) =>
    Effect.suspend(() => {
      length += chunk.length
      chunks.push(chunk)
      return length > limit ? Effect.fail(tooLarge(limit)) : Effect.void
    })).pipe(Effect.catchReason("HttpClientError", "EmptyBodyError", () => Effect.void))
  return joined(chunks, length)
})

/** Reads the body. Fails as `TooLarge` above `limit` bytes. */
export const read = (
  response: Response,
  limit: number
): Effect.Effect<Uint8Array, WireError.WireError | HttpClientError.HttpClientError> => {
  const length = framedLength(response)
  if (length === undefined) return streamed(response, limit)
  return length > limit
    ? Effect.fail(tooLarge(limit))
    : Effect.map(response.arrayBuffer, (buffer) => new Uint8Array(buffer))
}
