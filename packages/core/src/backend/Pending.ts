/** A request that the backend has accepted and is working on. */
import * as Effect from "effect/Effect"
import type { TinkerError } from "./TinkerError.ts"

/**
 * A handle to a submitted request. Requests execute in submission order. `await` is memoised, and interrupting it does not cancel the
 * request. A failure that is never awaited closes the client. A request that calls a function of the caller, such as a custom loss, may
 * also fail with that function's error.
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

/** Applies a function to the result of a pending request. */
export const map = <A, B, E = TinkerError>(self: Pending<A, E>, f: (value: A) => B): Pending<B, E> => ({
  await: Effect.map(self.await, f)
})
