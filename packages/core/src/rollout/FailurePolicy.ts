/** What a failed member means. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Schedule from "effect/Schedule"
import type { FailureTag } from "./GroupResult.ts"
import type { RolloutError } from "./RolloutError.ts"

/** A member's failure, told apart by who failed. */
export type Failure<E = unknown, PE = unknown> =
  | { readonly _tag: "AcquireFailed"; readonly error: E }
  | { readonly _tag: "StepFailed"; readonly error: E | RolloutError }
  | { readonly _tag: "GraderFailed"; readonly error: E | RolloutError }
  | { readonly _tag: "PolicyFailed"; readonly error: PE | RolloutError }
  | { readonly _tag: "TimedOut"; readonly error: RolloutError }
  | { readonly _tag: "Died"; readonly cause: Cause.Cause<never> }

/** Leave the member out, leave the group out, or stop everything with the failure's own error. */
export type Consequence = "drop" | "skip" | "abort"

/**
 * Retry while the schedule says so; then what follows for each kind of failure. Every kind must be named. A failed grader, or
 * any failure in a coupled group, concerns the whole group: there `drop` means `skip`.
 *
 * @see tinker-cookbook `RolloutStrategy`
 */
export interface FailurePolicy<in E = unknown, in PE = unknown> {
  readonly retry: Schedule.Schedule<unknown, Failure<E, PE>>
  readonly otherwise: { readonly [K in FailureTag]: Consequence }
}

/** The first failure stops everything, as no policy is configured. @see tinker-cookbook `FailFast` */
export const failFast: FailurePolicy = {
  retry: Schedule.recurs(0),
  otherwise: {
    AcquireFailed: "abort",
    StepFailed: "abort",
    GraderFailed: "abort",
    PolicyFailed: "abort",
    TimedOut: "abort",
    Died: "abort"
  }
}

/** One line for reports. */
export const message = (failure: Failure): string => {
  if (failure._tag === "Died") return Cause.pretty(failure.cause).split("\n", 1).join("")
  return Predicate.isError(failure.error) ? failure.error.message : String(failure.error)
}

/** The failure as an error of the caller. */
export const raise = <E, PE>(failure: Failure<E, PE>): Effect.Effect<never, E | PE | RolloutError> =>
  failure._tag === "Died" ? Effect.failCause(failure.cause) : Effect.fail(failure.error)
