/** Ends work that makes no progress. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { all, endable, type Watch } from "./Endable.ts"
import * as WireError from "./WireError.ts"

export interface Watchdog {
  /** Runs work. Fails as `Stuck` if no watched work succeeds within the limit, or with the error of another watch. */
  readonly watch: <A, E>(
    work: Effect.Effect<A, E>,
    ...others: ReadonlyArray<Watch<WireError.WireError>>
  ) => Effect.Effect<A, E | WireError.WireError>
}

/**
 * Creates a watchdog. Its timer restarts with each success, and when work begins while none is in progress. On a
 * timeout, `dismiss` gets the error first, to fail work that has not begun yet.
 */
export const make = Effect.fnUntraced(function*(
  limit: Duration.Duration,
  dismiss: (error: WireError.WireError) => void = () => {}
) {
  const longest = Duration.toMillis(limit)
  const underWay = new Set<(error: WireError.WireError) => void>()
  let lastProgress = yield* Clock.currentTimeMillis

  const progress = Effect.map(Clock.currentTimeMillis, (now) => void (lastProgress = now))

  const bite = () => {
    const detail = `none of the ${underWay.size} requests under way has ended for ${Duration.format(limit)}`
    const error = WireError.make(new WireError.Stuck({ detail }))
    dismiss(error)
    Array.from(underWay).forEach((end) => end(error))
  }

  const look = Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Effect.sync(() => {
      const left = underWay.size === 0 ? longest : lastProgress + longest - now
      if (left > 0) return Math.ceil(left)
      bite()
      return longest
    }))

  yield* Effect.flatMap(look, Effect.sleep).pipe(Effect.forever, Effect.forkScoped)

  const stuck: Watch<WireError.WireError> = (end) => {
    underWay.add(end)
    return () => underWay.delete(end)
  }

  const watchdog: Watchdog = {
    watch: (work, ...others) =>
      Effect.andThen(
        Effect.suspend(() => underWay.size === 0 ? progress : Effect.void),
        endable(all([stuck, ...others]))(Effect.tap(work, progress))
      )
  }
  return watchdog
})

/** A watchdog without a time limit of its own; only the other watches end the work. */
export const none: Watchdog = {
  watch: (work, ...others) => others.length === 0 ? work : endable(all(others))(work)
}
