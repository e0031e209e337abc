/** What is brought to its end although the run is interrupted. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

/** A backend that no longer answers must not keep a run from ending. */
const awaited = <A, E>(fiber: Fiber.Fiber<A, E>, limit: Duration.Input) =>
  Fiber.await(fiber).pipe(
    Effect.asVoid,
    Effect.timeoutOrElse({
      duration: limit,
      orElse: () => {
        const time = Duration.format(Duration.fromInputUnsafe(limit))
        return Effect.logError(`not finished ${time} after the run was interrupted: given up, and not saved`)
      }
    })
  )

const begun = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.forkDetach(effect, { startImmediately: true, uninterruptible: true })

/** An interruption waits for the effect, but no longer than `limit`. */
export const finish = <A, E, R>(effect: Effect.Effect<A, E, R>, limit: Duration.Input): Effect.Effect<A, E, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(
      begun(effect),
      (fiber) => Effect.onInterrupt(restore(Fiber.join(fiber)), () => awaited(fiber, limit))
    )
  )

/** For finalizers, which nothing interrupts. */
export const finishLast = <R>(
  effect: Effect.Effect<void, never, R>,
  limit: Duration.Input
): Effect.Effect<void, never, R> => Effect.flatMap(begun(effect), (fiber) => awaited(fiber, limit))
