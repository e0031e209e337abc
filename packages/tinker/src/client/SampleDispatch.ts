/** Posts sampling requests no faster than the service accepts them. */
import type { Sampling } from "@effect-rl/core/backend"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Event, type Observe } from "./Activity.ts"
import * as Budget from "./Budget.ts"
import type { WireError } from "./WireError.ts"

export interface SampleDispatch {
  /** Posts a request of `bytes` bytes. A 429 pauses all sampling, then the request is posted again. */
  readonly post: <A>(bytes: number, submit: Effect.Effect<A, WireError>) => Effect.Effect<A, WireError>
}

const bytesPerToken = 10

/** The approximate request size on the wire, in bytes. */
export const sizeOf = ({ prompt }: Sampling.SampleRequest) =>
  prompt.chunks.reduce(
    (size, chunk) => size + (chunk._tag === "Image" ? chunk.data.length : chunk.tokens.length * bytesPerToken),
    0
  )

/** Maximum number of concurrent posts, normally and while the service is considered short of capacity. */
const usual = 400
const cautious = 10

/** How long after a pause the service is considered short of capacity, in milliseconds. */
const memory = 10_000

/** Factor by which request sizes are multiplied while the service is considered short of capacity. */
const caution = 20

const isLarge = (bytes: number) => bytes > 128 * 1024

const pauseOf = (bytes: number, { retryAfterMillis = 0 }: WireError) =>
  Math.max(isLarge(bytes) ? 5000 : 1000, retryAfterMillis)

export const make = (maximumBytes: number, observe: Observe): SampleDispatch => {
  const posts = Budget.make("dispatch", usual, observe)
  const few = Budget.make("dispatch", cautious, () => {})
  const budget = Budget.make("sample_bytes", maximumBytes, observe)
  let pausedUntil = -Infinity

  const rest: Effect.Effect<void> = Effect.flatMap(
    Clock.currentTimeMillis,
    (now) => now < pausedUntil ? Effect.andThen(Effect.sleep(Math.ceil(pausedUntil - now)), rest) : Effect.void
  )

  const gated = <A>(bytes: number, submit: Effect.Effect<A, WireError>) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      now - pausedUntil < memory
        ? few.use(1)(budget.use(bytes * caution)(submit))
        : budget.use(bytes)(submit))

  const slowDown = (millis: number) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      pausedUntil = Math.max(pausedUntil, now + millis)
      observe(Event.Paused({ because: "rate_limit", millis }))
    })

  const post: SampleDispatch["post"] = (bytes, submit) =>
    Effect.andThen(rest, posts.use(1)(Effect.andThen(rest, gated(bytes, submit)))).pipe(
      Effect.catchIf(
        ({ reason }) => reason._tag === "RateLimited",
        (error) => Effect.andThen(slowDown(pauseOf(bytes, error)), Effect.suspend(() => post(bytes, submit)))
      )
    )

  return { post }
}
