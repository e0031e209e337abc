/** Deadlines of requests. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { endable, type Watch } from "./Endable.ts"
import type { WireError } from "./WireError.ts"

export interface Deadlines {
  /** Ends work that takes longer than `limit`, counted from now. `error` is evaluated when the limit is reached. */
  readonly watch: (limit: Duration.Duration, error: () => WireError) => Effect.Effect<Watch<WireError>>
  /** Fails work that takes longer than `limit`. */
  readonly within: (
    limit: Duration.Duration,
    error: () => WireError
  ) => <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<A, E | WireError, R>
}

interface Wait {
  readonly until: number
  readonly end: () => void
}

/**
 * Deadlines until the scope closes. Work with the same limit expires in the order in which it began, so one timer serves all of it. This
 * matters because thousands of requests run at once and a timer costs as much as a request.
 */
export const make = Effect.gen(function*() {
  const scope = yield* Effect.scope
  const queues = new Map<number, Set<Wait>>()

  /** Fails overdue work and returns the milliseconds until the next deadline. */
  const endDue = (waits: Set<Wait>, limit: number, now: number) => {
    for (const wait of waits) {
      if (wait.until > now) return Math.ceil(wait.until - now)
      waits.delete(wait)
      wait.end()
    }
    return limit
  }

  const endLate = (waits: Set<Wait>, limit: number, pause: number): Effect.Effect<never> =>
    Effect.sleep(pause).pipe(
      Effect.andThen(Clock.currentTimeMillis),
      Effect.flatMap((now) => endLate(waits, limit, endDue(waits, limit, now)))
    )

  const queue = (limit: number) =>
    Effect.suspend(() => {
      const known = queues.get(limit)
      if (known !== undefined) return Effect.succeed(known)
      const waits = new Set<Wait>()
      queues.set(limit, waits)
      return Effect.as(Effect.forkIn(endLate(waits, limit, limit), scope), waits)
    })

  const never: Watch<WireError> = () => () => {}

  const watch: Deadlines["watch"] = (duration, error) => {
    if (!Duration.isFinite(duration)) return Effect.succeed(never)
    const limit = Math.ceil(Duration.toMillis(duration))
    return Effect.flatMap(
      queue(limit),
      (waits) =>
        Effect.map(Clock.currentTimeMillis, (now): Watch<WireError> => (end) => {
          const wait: Wait = { until: now + limit, end: () => end(error()) }
          waits.add(wait)
          return () => waits.delete(wait)
        })
    )
  }

  const within: Deadlines["within"] = (limit, error) => (work) =>
    Duration.isFinite(limit) ? Effect.flatMap(watch(limit, error), (late) => endable(late)(work)) : work

  const deadlines: Deadlines = { watch, within }
  return deadlines
})
