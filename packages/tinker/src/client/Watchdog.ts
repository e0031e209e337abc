/** Ends work that makes no progress. */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as WireError from "./WireError.ts"

export interface Watchdog {
  /** Fails as `Stuck` when no watched work has succeeded for the whole time. */
  readonly watch: <A, E>(work: Effect.Effect<A, E>) => Effect.Effect<A, E | WireError.WireError>
}

/**
 * The clock starts anew with every success, and when work begins while no other is under way. `dismiss` gets the error
 * first, to fail work that still waits to begin.
 */
export const make = Effect.fnUntraced(function*(
  limit: Duration.Duration,
  dismiss: (error: WireError.WireError) => void = () => {}
) {
  const longest = Duration.toMillis(limit)
  let underWay = 0
  let lastProgress = yield* Clock.currentTimeMillis
  let stuck = Deferred.makeUnsafe<never, WireError.WireError>()

  const progress = Effect.map(Clock.currentTimeMillis, (now) => void (lastProgress = now))

  const bite = () => {
    const detail = `nothing of ${underWay} under way has ended for ${Duration.format(limit)}`
    const error = WireError.make(new WireError.Stuck({ detail }))
    dismiss(error)
    Deferred.doneUnsafe(stuck, Effect.fail(error))
    stuck = Deferred.makeUnsafe()
  }

  const look = Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Effect.sync(() => {
      const left = underWay === 0 ? longest : lastProgress + longest - now
      if (left > 0) return Math.ceil(left)
      bite()
      return longest
    }))

  yield* Effect.flatMap(look, Effect.sleep).pipe(Effect.forever, Effect.forkScoped)

  const begin = Effect.suspend(() => underWay++ === 0 ? progress : Effect.void)
  const end = Effect.sync(() => {
    underWay--
  })

  const watchdog: Watchdog = {
    watch: (work) =>
      Effect.acquireUseRelease(
        begin,
        () => Effect.raceFirst(Effect.tap(work, progress), Deferred.await(stuck)),
        () => end
      )
  }
  return watchdog
})

/** Ends nothing. */
export const none: Watchdog = { watch: (work) => work }
