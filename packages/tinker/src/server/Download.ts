/** Responds with bytes, either all of them or the requested range. */
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as Stream from "effect/Stream"
import { createHash } from "node:crypto"
import type { File } from "./CheckpointFiles.ts"
import { HttpRefusal } from "./HttpRefusal.ts"
import * as Range from "./Range.ts"

/** An entity tag, equal for the same files and different for a checkpoint that was saved again. */
export const tagOf = (files: ReadonlyArray<File>) => {
  const all = files.map(({ modifiedSeconds, name, size }) => `${name} ${size} ${modifiedSeconds}`).join("\n")
  return `"${createHash("sha256").update(all).digest("hex").slice(0, 32)}"`
}

export interface Content<E> {
  readonly type: string
  readonly size: number
  readonly etag: string
  readonly read: (range: Range.Range) => Stream.Stream<Uint8Array, E>
}

/** The requested range; undefined if there is none, or if the client's earlier parts belong to different content. */
const asked = ({ headers }: HttpServerRequest.HttpServerRequest, etag: string) =>
  (headers["if-range"] ?? etag) === etag ? headers["range"] : undefined

export const respond = Effect.fnUntraced(function*<E>({ etag, read, size, type }: Content<E>) {
  const range = Range.parse(asked(yield* HttpServerRequest.HttpServerRequest, etag), size)
  if (range === undefined) {
    const detail = `the download has ${size} bytes, expected a range within`
    return yield* new HttpRefusal({ status: 416, detail, headers: { "content-range": `bytes */${size}` } })
  }
  const { end, start } = range
  const isWhole = end - start === size
  return HttpServerResponse.stream(read(range), {
    status: isWhole ? 200 : 206,
    contentType: type,
    contentLength: end - start,
    headers: {
      "accept-ranges": "bytes",
      etag,
      ...(isWhole ? {} : { "content-range": `bytes ${start}-${end - 1}/${size}` })
    }
  })
})
