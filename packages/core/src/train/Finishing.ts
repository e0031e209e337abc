/** What is brought to its end although the run is interrupted. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

/** A backend that no longer answers must not keep a run from ending, nor what it was asked for write into the run afterwards. */
const awaited = <A, E>(fiber: Fiber.Fiber<A, E>, limit: Duration.Input) => {
  const time = Duration.format(Duration.fromInputUnsafe(limit))
  const giveUp = Effect.andThen(
    Effect.logError(`not finished ${time} after the run was over: given up, and not saved`),
    Effect.forkDetach(Fiber.interrupt(fiber), { startImmediately: true })
  )
  return Fiber.await(fiber).pipe(
    Effect.asVoid,
    Effect.timeoutOrElse({ duration: limit, orElse: () => Effect.asVoid(giveUp) })
  )
}

/** Beside the run, so that what interrupts the run does not interrupt it. */
const begun = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkDetach(effect, { startImmediately: true })

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
