/** Posts samples no faster than the service takes them. */
import type { Sampling } from "@effect-rl/core/backend"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Event, type Observe } from "./Activity.ts"
import * as Budget from "./Budget.ts"
import type { WireError } from "./WireError.ts"

export interface SampleDispatch {
  /** Posts with room for `bytes`; a 429 is no failure: it pauses all sampling, and the request is posted again. */
  readonly post: <A>(bytes: number, submit: Effect.Effect<A, WireError>) => Effect.Effect<A, WireError>
}

const bytesPerToken = 10

/** Roughly the bytes of a request on the wire. */
export const sizeOf = ({ prompt }: Sampling.SampleRequest) =>
  prompt.chunks.reduce(
    (size, chunk) => size + (chunk._tag === "Image" ? chunk.data.length : chunk.tokens.length * bytesPerToken),
    0
  )

/** Posts under way at once: usually, and while the service counts as short of capacity. */
const usual = 400
const cautious = 10

/** Milliseconds after a pause for which the service counts as short of capacity. */
const memory = 10_000

/** How many times its size a request counts meanwhile. */
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
