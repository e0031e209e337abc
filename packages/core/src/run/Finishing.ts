/** Finishing work that an interruption must not cut short, within a time limit. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

/** Waits for a fiber; after `limit` interrupts it, so that a backend that does not answer cannot keep the run from ending. */
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

/** Detached from the run, so that interrupting the run does not interrupt the work. */
const begun = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkDetach(effect, { startImmediately: true })

/**
 * Makes an interruption wait for the effect, but no longer than `limit`. `hurry` runs first, to make the effect skip work that is not
 * needed.
 */
export const finish = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  limit: Duration.Input,
  hurry: Effect.Effect<unknown> = Effect.void
): Effect.Effect<A, E, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(
      begun(effect),
      (fiber) => Effect.onInterrupt(restore(Fiber.join(fiber)), () => Effect.andThen(hurry, awaited(fiber, limit)))
    )
  )

/** Runs the effect where it cannot be interrupted, as in a finalizer, and waits for it no longer than `limit`. */
export const finishLast = <R>(
  effect: Effect.Effect<void, never, R>,
  limit: Duration.Input
): Effect.Effect<void, never, R> => Effect.flatMap(begun(effect), (fiber) => awaited(fiber, limit))
