/**
 * Limits the requests of one session.
 *
 * Invariants: the number of requests in progress, the total size of their bodies, and the request rate beyond a burst are bounded. A
 * request over a limit is refused with a retry delay before its body is read.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import type * as Scope from "effect/Scope"
import { later, type Refusal } from "../dialect/Refusal.ts"
import * as RequestBody from "../episode/RequestBody.ts"

/** Admits the current request. Closing the scope ends the request's share of the limits. */
export type Admission = Effect.Effect<void, Refusal, HttpServerRequest.HttpServerRequest | Scope.Scope>

/** Maximum number of requests in progress; an agent that waits for its answers has fewer. */
const mostUnderWay = 256

/** Maximum total body size of the requests in progress, in bytes. */
const mostBytes = 4 * RequestBody.mostBytes

const perSecond = 5000

/** Requests that may start at once after a pause. */
const burst = 10_000

/** The declared body size in bytes, at most the maximum. A body of undeclared size counts as the maximum; no body counts as 0. */
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
