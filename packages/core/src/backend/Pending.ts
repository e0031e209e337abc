/** A request that the backend has accepted and is working on. */
import * as Effect from "effect/Effect"
import type { TinkerError } from "./TinkerError.ts"

/**
 * Submitting is not awaiting: submission order is execution order, `await` is memoised, and interrupting it does not cancel
 * the request. A failure that is never awaited fails the client. A request that calls a function of the caller, such as a
 * custom loss, may fail with the error of that function as well.
 *
 * @example
 * Effect.gen(function*() {
 *   const pass = yield* training.forwardBackward(data, Loss.importanceSampling)
 *   const step = yield* training.optimStep({ learningRate: 1e-4 })
 *   yield* pass.await
 *   return yield* step.await
 * })
 *
 * @see tinker `APIFuture`
 */
export interface Pending<out A, out E = TinkerError> {
  readonly await: Effect.Effect<A, E>
}

/** The pending result changed by a function. */
export const map = <A, B, E = TinkerError>(self: Pending<A, E>, f: (value: A) => B): Pending<B, E> => ({
  await: Effect.map(self.await, f)
})
