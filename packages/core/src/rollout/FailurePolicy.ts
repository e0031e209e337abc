/** What a failed member means. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Schedule from "effect/Schedule"
import type { FailureTag } from "./GroupResult.ts"
import { RolloutError } from "./RolloutError.ts"

/** A member's failure, told apart by who failed. */
export type Failure<E = unknown, PE = unknown> =
  | { readonly _tag: "AcquireFailed"; readonly error: E }
  | { readonly _tag: "StepFailed"; readonly error: E | RolloutError }
  | { readonly _tag: "GraderFailed"; readonly error: E | RolloutError }
  | { readonly _tag: "PolicyFailed"; readonly error: PE | RolloutError }
  | { readonly _tag: "HookFailed"; readonly error: E }
  | { readonly _tag: "TimedOut"; readonly error: RolloutError }
  | { readonly _tag: "Died"; readonly cause: Cause.Cause<never> }

/** Leave the member out, leave the group out, or stop everything with the failure's own error. */
export type Consequence = "drop" | "skip" | "abort"

/**
 * Retry while the schedule and the group's budget say so; then what follows for each kind of failure. Every kind must be named.
 * A retry acquires one more member. A failed grader, or any failure in a coupled group, concerns the whole group: there `drop`
 * means `skip`. What an environment cannot do at all (`Unsupported`) is neither retried nor passed over.
 *
 * @see tinker-cookbook `RolloutStrategy`
 */
export interface FailurePolicy<in E = unknown, in PE = unknown> {
  readonly retry: Schedule.Schedule<unknown, Failure<E, PE>>
  /** Retries of a group's members together; as many as the schedule allows unless given. */
  readonly maxRetries?: number
  /** Of a group's size: with as many members finished nobody is retried, with fewer at the end the group is skipped. */
  readonly minSuccessful?: (size: number) => number
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
    HookFailed: "abort",
    TimedOut: "abort",
    Died: "abort"
  }
}

const isGraders = (failure: Failure) =>
  failure._tag === "GraderFailed"
  || (failure._tag === "TimedOut" && failure.error.reason._tag === "GraderTimedOut")

/** At once, whoever failed, but for the grader: it would be asked about the same members. */
const members: Schedule.Schedule<unknown, Failure> = Schedule.identity<Failure>().pipe(
  Schedule.while(({ input }) => !isGraders(input))
)

/**
 * Tries failed members again, `maxRetries` (3) times in each group; a failure beyond leaves the group out.
 *
 * @see tinker-cookbook `RetryOnFailure`
 */
export const retryOnFailure = (options: { readonly maxRetries?: number } = {}): FailurePolicy => ({
  retry: members,
  maxRetries: options.maxRetries ?? 3,
  otherwise: {
    AcquireFailed: "skip",
    StepFailed: "skip",
    GraderFailed: "skip",
    PolicyFailed: "skip",
    HookFailed: "skip",
    TimedOut: "skip",
    Died: "skip"
  }
})

/**
 * Goes on with the members that finished, if `minSuccessful` did: three quarters of the group, rounded up, unless given. Below
 * that number failed members are tried again, `maxRetries` (3) times in each group.
 *
 * @see tinker-cookbook `MinViableGroup`
 */
export const minViableGroup = (
  options: { readonly minSuccessful?: number; readonly maxRetries?: number } = {}
): FailurePolicy => ({
  retry: members,
  maxRetries: options.maxRetries ?? 3,
  minSuccessful: (size) => options.minSuccessful ?? Math.ceil(0.75 * size),
  otherwise: {
    AcquireFailed: "drop",
    StepFailed: "drop",
    GraderFailed: "skip",
    PolicyFailed: "drop",
    HookFailed: "drop",
    TimedOut: "drop",
    Died: "drop"
  }
})

/** Asked for what its environment cannot do, a rollout cannot be helped by trying again or by leaving it out. */
export const isMisuse = (failure: Failure) =>
  failure._tag === "StepFailed"
  && failure.error instanceof RolloutError
  && failure.error.reason._tag === "Unsupported"

/** One line for reports. */
export const message = (failure: Failure): string => {
  if (failure._tag === "Died") return Cause.pretty(failure.cause).split("\n", 1).join("")
  return Predicate.isError(failure.error) ? failure.error.message : String(failure.error)
}

/** The failure as an error of the caller. */
export const raise = <E, PE>(failure: Failure<E, PE>): Effect.Effect<never, E | PE | RolloutError> =>
  failure._tag === "Died" ? Effect.failCause(failure.cause) : Effect.fail(failure.error)
