/** How work that is not finished yet is asked about. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as RetryPolicy from "./RetryPolicy.ts"
import type { WireError } from "./WireError.ts"

/** Longer than services hold a request, which is 40 seconds. */
export const hold = "60 seconds"

/** Between two answers of "not yet" that came at once: services wait themselves before they say so. */
const pause = "100 millis"
const atOnce = 1000

/** Waits where the answer to a request that was sent at `started` came at once. */
export const rest = (started: number) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => now - started < atOnce ? Effect.sleep(pause) : Effect.void)

/** How often in a row an unreadable answer, or a 400 that may be a proxy's, is asked for again. */
const noise = 3

const isNoise = ({ reason }: WireError) =>
  reason._tag === "Unreadable" || (reason._tag === "Refused" && reason.status === 400 && reason.said === undefined)

export const throughNoise = RetryPolicy.retry(() =>
  Schedule.recurs(noise).pipe(
    Schedule.setInputType<WireError>(),
    Schedule.while(({ input }) => isNoise(input))
  )
)
