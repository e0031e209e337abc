/** Limits how often a tenant may request samples. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as RateLimiter from "effect/persistence/RateLimiter"
import { Caller } from "./Caller.ts"
import { type HttpRefusal, tooMany } from "./HttpRefusal.ts"

export interface RateLimit {
  /** Takes one request from the tenant's allowance. If none is left, fails with the time until the next allowed request. */
  readonly take: Effect.Effect<void, HttpRefusal, Caller>
}

/** Allows every request. */
export const none: RateLimit = { take: Effect.void }

/** Allows bursts of `limit` requests, refilled evenly over a minute. On a server without keys all callers share one limit. */
export const perMinute = Effect.fnUntraced(function*(limit: number) {
  const limiter = yield* RateLimiter.make
  const take = Effect.flatMap(
    Caller,
    ({ tenant = "" }) =>
      limiter.consume({ algorithm: "token-bucket", window: "1 minute", limit, key: tenant }).pipe(
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
