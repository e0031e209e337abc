/** Reads request bodies, compressed or not, up to the server's limit. */
import * as Json from "@effect-rl/agent/wire/Json"
import * as ByteSize from "effect/ByteSize"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as HttpIncomingMessage from "effect/http/HttpIncomingMessage"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { pipeline, Readable } from "node:stream"
import { createZstdDecompress } from "node:zlib"
import * as Blocks from "./Blocks.ts"
import { Caller } from "./Caller.ts"
import type { FairShare } from "./FairShare.ts"
import { HttpRefusal, invalid } from "./HttpRefusal.ts"
import { Strictness } from "./Strictness.ts"

/** Limits the bytes of bodies that are read and decompressed concurrently, shared fairly between callers. */
export class Room extends Context.Service<Room, FairShare>()("@effect-rl/tinker/server/Body/Room") {}

/** The limit for all concurrent bodies together, as a multiple of the largest body. */
export const roomFactor = 4

const mostOfAll = ByteSize.mebibytes(64)

const tooLarge = (most: number) =>
  new HttpRefusal({
    status: 413,
    detail: `the request body is too large, expected at most ${most} bytes, or was cut off`
  })

const tooSlow = new HttpRefusal({
  status: 408,
  detail: "the request body did not arrive within a minute",
  headers: { connection: "close" }
})

/** Maximum compression ratio. Training data typically shrinks to a tenth or less, but never to a thousandth. */
const largestRatio = 250
const alwaysUnpacked = 4 * 1024 * 1024

const unpackedLimit = (bytes: number, limit: number) => Math.min(limit, Math.max(alwaysUnpacked, bytes * largestRatio))

/** Decompresses on a thread of Node's pool. */
const decompress = (packed: Blocks.Blocks, limit: number) => {
  const unpacked = Stream.suspend(() => {
    const unpacking = createZstdDecompress({ chunkSize: 65_536 })
    // The iterator reports the error as well.
    pipeline(Readable.from(packed), unpacking, () => {})
    return Stream.fromAsyncIterable<Uint8Array, HttpRefusal>(
      unpacking,
      (cause) => invalid(`the body is not zstd: ${cause instanceof Error ? cause.message : String(cause)}`)
    )
  })
  return Blocks.collect(unpacked, limit, Effect.fail(tooLarge(limit)))
}

const declared = (length: string | undefined, limit: number) => {
  const bytes = Number(length ?? NaN)
  return Number.isSafeInteger(bytes) && bytes >= 0 ? bytes : limit
}

/** Reads the body in a separate fiber. Interrupting the reading fiber would close the connection before it is answered. */
const received = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest, limit: number) {
  const all = Blocks.collect(request.stream, limit, Effect.fail(tooLarge(limit)))
  const reading = yield* Effect.forkDetach(all, { startImmediately: true })
  return yield* Fiber.join(reading).pipe(
    Effect.mapError(() => tooLarge(limit)),
    Effect.timeoutOrElse({ duration: "1 minute", orElse: () => Effect.fail(tooSlow) })
  )
})

/**
 * Applies `use` to the body's content while the body holds its share of the room. The limit, the server's or a smaller one, also applies to
 * the decompressed content.
 */
export const within = Effect.fnUntraced(function*<A, E, R>(
  use: (content: Blocks.Blocks) => Effect.Effect<A, E, R>,
  most = Infinity
) {
  const request = yield* HttpServerRequest.HttpServerRequest
  const room = yield* Room
  const { tenant } = yield* Caller
  const limit = Math.min(most, ByteSize.toNumberUnsafe((yield* HttpIncomingMessage.MaxBodySize) ?? mostOfAll))
  const encoding = request.headers["content-encoding"] ?? "identity"
  if (encoding !== "identity" && encoding !== "zstd") {
    const detail = `content-encoding is "${encoding}", expected zstd or none`
    return yield* new HttpRefusal({ status: 415, detail, headers: { "accept-encoding": "zstd" } })
  }
  const length = declared(request.headers["content-length"], limit)
  if (length > limit) return yield* tooLarge(limit)
  const unpacked = encoding === "zstd" ? unpackedLimit(length, limit) : 0
  const read = encoding === "zstd"
    ? Effect.flatMap(received(request, limit), (sent) => decompress(sent, unpackedLimit(Blocks.size(sent), limit)))
    : received(request, limit)
  return yield* room.use(tenant ?? "", length + unpacked)(Effect.flatMap(read, use))
})

const asText = (content: Blocks.Blocks) => Effect.sync(() => Blocks.text(content))

export const text = within(asText)

/** Maximum size of ordinary bodies in bytes. Only training passes, images and conversations are larger. */
export const mostBytes = 2 ** 20

/** The text of a body of at most `most` bytes. */
export const textWithin = (most: number) => within(asText, most)

/** Limits on nesting, values and names of a JSON body, unless its request needs more. */
const limits: Json.Limits = { nested: 30_000, values: 300_000, names: 30_000 }

/** Decodes a body by `schema`; see `Strictness` for unknown keys. */
export const decode = <S extends Schema.Decoder<unknown>>(schema: S) => {
  const decoded = Json.decodeRequest(schema)
  return (sent: unknown): Effect.Effect<S["Type"], HttpRefusal, Strictness> =>
    Effect.flatMap(
      Effect.mapError(decoded(sent), ({ message }) => invalid(message)),
      ({ unread, value }) =>
        unread === undefined
          ? Effect.succeed(value)
          : Effect.as(Effect.flatMap(Strictness, (strictness) => strictness.unread(unread)), value)
    )
}

/** Parses a text and decodes it by `schema`. */
export const parse = <S extends Schema.Decoder<unknown>>(schema: S, within = limits) => {
  const decoded = decode(schema)
  return (text: string): Effect.Effect<S["Type"], HttpRefusal, Strictness> =>
    Effect.flatMap(Effect.mapError(Json.parse(text, within), ({ message }) => invalid(message)), decoded)
}

/** Limits for requests whose bodies may be larger than usual. */
export interface Larger {
  readonly bytes: number
  readonly limits: Json.Limits
}

/** The body decoded by `schema`, together with its text. */
export const json = <S extends Schema.Decoder<unknown>>(schema: S, larger: Larger = { bytes: mostBytes, limits }) => {
  const read = parse(schema, larger.limits)
  return Effect.flatMap(textWithin(larger.bytes), (text) => Effect.map(read(text), (value) => ({ value, text })))
}
