/** Downloads that resume after a broken connection. */
import * as Effect from "effect/Effect"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Stream from "effect/Stream"
import type * as Connection from "./Connection.ts"
import * as RetryPolicy from "./RetryPolicy.ts"
import * as WireError from "./WireError.ts"

/** A connection without data for this long counts as broken. */
const silence = "60 seconds"

const cut = (detail: string) => WireError.make(new WireError.ConnectionFailed({ detail }))

/** Bytes received, counted from the start of the file. */
interface Progress {
  received: number
  total: number | undefined
  etag: string | undefined
}

const range = ({ etag, received }: Progress) =>
  received === 0 ? {} : { range: `bytes=${received}-`, ...(etag === undefined ? {} : { "if-range": etag }) }

const contentRange = /^bytes (\d+)-\d+\/(\d+|\*)$/

/** The file offset at which an answer begins. */
const beginning = (
  { headers, status }: HttpClientResponse.HttpClientResponse,
  progress: Progress
): Effect.Effect<number, WireError.WireError> => {
  if (status === 200) {
    const length = Number(headers["content-length"] ?? NaN)
    progress.total = Number.isSafeInteger(length) ? length : undefined
    progress.etag = headers["etag"]
    return Effect.succeed(0)
  }
  const [, start, total] = contentRange.exec(headers["content-range"] ?? "") ?? []
  if (status !== 206 || Number(start) !== progress.received) {
    return Effect.fail(cut(`HTTP ${status} for the bytes from ${progress.received} on`))
  }
  progress.total = total === "*" ? progress.total : Number(total)
  return Effect.succeed(progress.received)
}

/** The bytes of an answer that were not received before. The answer begins at file offset `start`. */
const fresh = (response: HttpClientResponse.HttpClientResponse, start: number, progress: Progress) => {
  let at = start
  return response.stream.pipe(
    Stream.timeoutOrElse({ duration: silence, orElse: () => Stream.fail(cut("the file stopped coming")) }),
    Stream.map((bytes) => {
      const known = Math.min(Math.max(progress.received - at, 0), bytes.length)
      at += bytes.length
      progress.received += bytes.length - known
      return bytes.subarray(known)
    }),
    Stream.filter(({ length }) => length > 0),
    Stream.mapError((error) => error._tag === "WireError" ? error : cut(error.message))
  )
}

const complete = (progress: Progress) =>
  Stream.suspend(() =>
    progress.total === undefined || progress.received === progress.total
      ? Stream.empty
      : Stream.fail(cut(`${progress.received} of ${progress.total} bytes came`))
  )

const expired = (error: WireError.WireError) =>
  error.reason._tag === "Unauthorized" || WireError.hasStatus(error, 410)
    ? cut(`the link has expired: ${error.message}`)
    : error

/** Downloads the file. If the link has expired, a new one is requested, as after a broken connection. */
export const download = (
  connection: Connection.Connection,
  link: Effect.Effect<string, WireError.WireError>
): Stream.Stream<Uint8Array, WireError.WireError> =>
  Stream.suspend(() => {
    const progress: Progress = { received: 0, total: undefined, etag: undefined }
    const rest = Effect.gen(function*() {
      if (progress.received > 0 && progress.received === progress.total) return Stream.empty
      const response = yield* Effect.mapError(connection.open(yield* link, range(progress)), expired)
      const start = yield* beginning(response, progress)
      return Stream.concat(fresh(response, start, progress), complete(progress))
    })
    return Stream.unwrap(rest).pipe(
      Stream.retry(RetryPolicy.observed(RetryPolicy.download, "download", connection.options.observe))
    )
  })
