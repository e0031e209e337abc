/** Ending a stream from outside. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

/**
 * Ends a stream, interrupting what it is working on, when `halted` completes; fails it when `halted` fails. Unlike
 * `Stream.interruptWhen`, never works on an element before it is asked for.
 */
export const when = <E2, R2>(halted: Effect.Effect<unknown, E2, R2>) => <A, E, R>(self: Stream.Stream<A, E, R>) =>
  Stream.transformPull(
    self,
    (pull) => Effect.succeed(Effect.raceFirst(pull, Effect.flatMap(halted, () => Cause.done())))
  )
