/**
 * The requests of one session that are let in.
 *
 * What always holds: so many are under way at most, their bodies are so large together at most, and so many begin in a second at most,
 * apart from a burst. A request that is not let in is told when to come again; no part of its body was read.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import type * as Scope from "effect/Scope"
import { later, type Refusal } from "../dialect/Refusal.ts"
import * as RequestBody from "../episode/RequestBody.ts"

/** Enters with the request that is under way; closing the scope leaves. */
export type Admission = Effect.Effect<void, Refusal, HttpServerRequest.HttpServerRequest | Scope.Scope>

/** More than any agent has under way that waits for its answers. */
const mostUnderWay = 256

/** Bytes of the bodies of requests that are under way. */
const mostBytes = 4 * RequestBody.mostBytes

const perSecond = 5000

/** Requests that may begin at the same time after a pause. */
const burst = 10_000

/** The bytes that a request says its body has, or the most that it may have. */
const sizeOf = ({ headers }: HttpServerRequest.HttpServerRequest) => {
  const said = Number(headers["content-length"] ?? NaN)
  return said >= 0
    ? Math.min(said, RequestBody.mostBytes)
    : headers["transfer-encoding"] === undefined
    ? 0
    : RequestBody.mostBytes
}

const tooMany = (what: string) => later(429, `${what}, expected fewer`, 1)

export const make = (): Admission => {
  let [underWay, bytes, left, at] = [0, 0, burst, 0]
  const enter = Effect.gen(function*() {
    const size = sizeOf(yield* HttpServerRequest.HttpServerRequest)
    const now = yield* Clock.currentTimeMillis
    left = Math.min(burst, left + (now - at) / 1000 * perSecond)
    at = now
    if (left < 1) return yield* tooMany(`this session asks more than ${perSecond} times in a second`)
    left--
    if (underWay >= mostUnderWay) return yield* tooMany(`${underWay} requests of this session are under way`)
    if (bytes + size > mostBytes) return yield* tooMany(`requests of this session with ${bytes} bytes are under way`)
    underWay++
    bytes += size
    return size
  })
  return Effect.asVoid(Effect.acquireRelease(enter, (size) =>
    Effect.sync(() => {
      underWay--
      bytes -= size
    })))
}
