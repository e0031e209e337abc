/** Compresses responses, and sends no body if the browser's copy is current. */
import * as Effect from "effect/Effect"
import type * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { createHash } from "node:crypto"
import { constants, gzip, zstdCompress } from "node:zlib"

type Response = HttpServerResponse.HttpServerResponse

type Done = (error: Error | null, bytes: Uint8Array) => void

/** The supported encodings, in order of preference. Both levels are chosen so that compression is faster than a remote reader's network. */
const encodings: ReadonlyArray<readonly [name: string, compress: (bytes: Uint8Array, done: Done) => void]> = [
  ["zstd", (bytes, done) => zstdCompress(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 3 } }, done)],
  ["gzip", (bytes, done) => gzip(bytes, { level: 4 }, done)]
]

/** Smaller responses are not compressed, because they fit into a packet or two. */
const least = 1024

/** The first of our encodings that the header accepts. */
const accepted = (header: string) => {
  const named = header.split(",").flatMap((part) => {
    const [name = "", quality = ""] = part.trim().split(/\s*;\s*q=/)
    return Number(quality === "" ? 1 : quality) > 0 ? [name] : []
  })
  return encodings.find(([name]) => named.includes(name))
}

const compressed = (bytes: Uint8Array, compress: (typeof encodings)[number][1]) =>
  Effect.callback<Uint8Array>((resume) =>
    compress(bytes, (error, smaller) => resume(error === null ? Effect.succeed(smaller) : Effect.die(error)))
  )

const tagOf = (bytes: Uint8Array) => `W/"${createHash("sha1").update(bytes).digest("base64url")}"`

/** The browser revalidates its copy before each use; shared caches store nothing. */
const kept = { "cache-control": "private, no-cache", vary: "accept-encoding" }

/** Compresses complete responses and adds an entity tag, with which the browser revalidates its copy. Streams and errors are unchanged. */
export const make = Effect.fnUntraced(function*(
  { headers }: Pick<HttpServerRequest.HttpServerRequest, "headers">,
  response: Response
) {
  const { body, status } = response
  if (body._tag !== "Uint8Array" || status !== 200) return response
  const { body: bytes, contentType } = body
  const tag = tagOf(bytes)
  if (headers["if-none-match"] === tag) {
    return HttpServerResponse.empty({ status: 304, headers: { ...kept, etag: tag } })
  }
  const encoding = bytes.length < least ? undefined : accepted(headers["accept-encoding"] ?? "")
  if (encoding === undefined) return HttpServerResponse.setHeaders(response, { ...kept, etag: tag })
  const [name, compress] = encoding
  const { "content-length": _, ...others } = response.headers
  return HttpServerResponse.uint8Array(yield* compressed(bytes, compress), {
    status,
    contentType,
    headers: { ...others, ...kept, etag: tag, "content-encoding": name }
  })
})
