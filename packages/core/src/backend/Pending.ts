/** A request that the backend has accepted and is working on. */
import * as Effect from "effect/Effect"
import type { TinkerError } from "./TinkerError.ts"

/**
 * Submitting is not awaiting: submission order is execution order, `await` is memoised, and interrupting it does not cancel
 * the request. A failure that nobody awaits fails the client.
 *
 * @see tinker `APIFuture`
 */
export interface Pending<out A> {
  readonly await: Effect.Effect<A, TinkerError>
}

export const map = <A, B>(self: Pending<A>, f: (value: A) => B): Pending<B> => ({ await: Effect.map(self.await, f) })
