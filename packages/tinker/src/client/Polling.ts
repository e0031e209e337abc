/** Timing of polls for unfinished work. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as RetryPolicy from "./RetryPolicy.ts"
import type { WireError } from "./WireError.ts"

/** Request timeout for polls; services hold a request for up to 40 seconds. */
export const hold = "60 seconds"

/** Delay after a "not yet" that was answered immediately. Services normally wait before they answer. */
const pause = "100 millis"
const atOnce = 1000

/** Waits if the request sent at `started` was answered immediately. */
export const rest = (started: number) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => now - started < atOnce ? Effect.sleep(pause) : Effect.void)

/** How many times in a row to retry after an unreadable answer, or after a 400 that may come from a proxy. */
const noise = 3

const isNoise = ({ reason }: WireError) =>
  reason._tag === "Unreadable" || (reason._tag === "Refused" && reason.status === 400 && reason.said === undefined)

export const throughNoise = RetryPolicy.retry(() =>
  Schedule.recurs(noise).pipe(
    Schedule.setInputType<WireError>(),
    Schedule.while(({ input }) => isNoise(input))
  )
)
