/** Bounds what one key may ask for. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as RateLimiter from "effect/persistence/RateLimiter"
import { createHash } from "node:crypto"
import { type Refusal, tooMany } from "./Refusal.ts"

export interface RateLimit {
  /** Takes one of the requests of this minute, or says when there will be one. */
  readonly take: Effect.Effect<void, Refusal, HttpServerRequest.HttpServerRequest>
}

/** No limit. */
export const none: RateLimit = { take: Effect.void }

/** Where nobody needs a key, all share one limit: otherwise a new name would be a new limit. */
const caller = (hasKeys: boolean) =>
  Effect.map(
    HttpServerRequest.HttpServerRequest,
    ({ headers }) => hasKeys ? createHash("sha256").update(headers["x-api-key"] ?? "").digest("hex") : "everybody"
  )

/** As many requests at once as a minute has, which come back one after the other. */
export const perMinute = Effect.fnUntraced(function*(limit: number, hasKeys: boolean) {
  const limiter = yield* RateLimiter.make
  const take = Effect.flatMap(
    caller(hasKeys),
    (key) =>
      limiter.consume({ algorithm: "token-bucket", window: "1 minute", limit, key }).pipe(
        Effect.catchReason(
          "RateLimiterError",
          "RateLimitExceeded",
          ({ retryAfter }) =>
            tooMany(`more than ${limit} requests a minute`, Math.ceil(Duration.toSeconds(retryAfter))),
          Effect.die
        )
      )
  )
  return { take: Effect.asVoid(take) } satisfies RateLimit
}, Effect.provide(RateLimiter.layerStoreMemory))
