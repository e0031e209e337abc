/** Failure policies of rollouts: retries, and the consequences of failures that retries cannot repair. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Schedule from "effect/Schedule"
import type { FailureTag } from "./GroupResult.ts"
import { RolloutError } from "./RolloutError.ts"

/** A failure in a group, by the part that failed. */
export type Failure<E = unknown, PE = unknown> =
  | { readonly _tag: "AcquireFailed"; readonly error: E }
  | { readonly _tag: "StepFailed"; readonly error: E | RolloutError }
  | { readonly _tag: "GraderFailed"; readonly error: E | RolloutError }
  | { readonly _tag: "Ungraded"; readonly error: RolloutError }
  | { readonly _tag: "PolicyFailed"; readonly error: PE | RolloutError }
  | { readonly _tag: "HookFailed"; readonly error: E }
  | { readonly _tag: "TimedOut"; readonly error: RolloutError }
  | { readonly _tag: "Died"; readonly cause: Cause.Cause<never> }

/** Leave the member out, leave the group out, or stop everything with the failure's own error. */
export type Consequence = "drop" | "skip" | "abort"

/** The consequence of each kind of failure. */
export type Otherwise = { readonly [K in FailureTag]: Consequence }

/** A failure policy as data, which can be sent to another process. */
export interface Description {
  readonly maxRetries: number
  /** Members that must finish, as a number or as a share of the group, rounded up. */
  readonly minSuccessful?: { readonly unit: "members" | "share"; readonly value: number }
  readonly otherwise: Otherwise
}

/**
 * What a failed member means: retry it while the schedule and the group's budget allow, then the consequence named for its kind of
 * failure. A retry acquires one more member. A failed grader, or any failure in a coupled group, concerns the whole group: there
 * `drop` means `skip`. A rollout that needs a capability its environment lacks (`Unsupported`) always fails at once.
 *
 * @example
 * const rollout = { onFailure: FailurePolicy.minViableGroup({ minSuccessful: 4, maxRetries: 2 }) }
 * Rl.run({ model, dataset, rollout })
 *
 * @see tinker-cookbook `RolloutStrategy`
 */
export interface FailurePolicy<in E = unknown, in PE = unknown> {
  readonly retry: Schedule.Schedule<unknown, Failure<E, PE>>
  /** Retries of a group's members together; as many as the schedule allows unless given. */
  readonly maxRetries?: number
  /**
   * The number of members that suffices, given the group's size: retries stop once this many have finished; a group that ends with fewer
   * is skipped.
   */
  readonly minSuccessful?: (size: number) => number
  readonly otherwise: Otherwise
}

const isGraders = (failure: Failure) => failure._tag === "GraderFailed" || failure._tag === "Ungraded"

/** Retries at once, except for a failed grader, which would be asked about the same members again. */
const members: Schedule.Schedule<unknown, Failure> = Schedule.identity<Failure>().pipe(
  Schedule.while(({ input }) => !isGraders(input))
)

const descriptions = new WeakMap<object, Description>()

/** The policy as data; undefined for a policy that was not made by this module, such as a changed copy. */
export const description = (policy: FailurePolicy<never, never>): Description | undefined => descriptions.get(policy)

const described = (policy: FailurePolicy, description: Description): FailurePolicy => {
  descriptions.set(policy, description)
  return policy
}

/** A policy from data: failed members are retried at once, failed graders are not. */
export const fromDescription = (description: Description): FailurePolicy => {
  const { maxRetries, minSuccessful, otherwise } = description
  const policy = { retry: members, maxRetries, otherwise }
  if (minSuccessful === undefined) return described(policy, description)
  const { unit, value } = minSuccessful
  return described(
    { ...policy, minSuccessful: (size) => unit === "members" ? value : Math.ceil(value * size) },
    description
  )
}

const always = (consequence: Consequence): Otherwise => ({
  AcquireFailed: consequence,
  StepFailed: consequence,
  GraderFailed: consequence,
  Ungraded: consequence,
  PolicyFailed: consequence,
  HookFailed: consequence,
  TimedOut: consequence,
  Died: consequence
})

/** Stops everything at the first failure. @see tinker-cookbook `FailFast` */
export const failFast: FailurePolicy = described(
  { retry: Schedule.recurs(0), otherwise: always("abort") },
  { maxRetries: 0, otherwise: always("abort") }
)

/**
 * Stops everything at the first failure, but leaves out a member whose grader threw or hung, and skips a group whose own grader did: the
 * default.
 */
export const dropUngraded: FailurePolicy = fromDescription({
  maxRetries: 0,
  otherwise: { ...always("abort"), Ungraded: "drop" }
})

/**
 * Retries failed members, `maxRetries` (3) times in each group; a failure after that skips the group.
 *
 * @see tinker-cookbook `RetryOnFailure`
 */
export const retryOnFailure = (options: { readonly maxRetries?: number } = {}): FailurePolicy =>
  fromDescription({ maxRetries: options.maxRetries ?? 3, otherwise: always("skip") })

/**
 * Continues with the members that finished, if `minSuccessful` did: three quarters of the group, rounded up, unless given. Below
 * that number failed members are retried, `maxRetries` (3) times in each group.
 *
 * @see tinker-cookbook `MinViableGroup`
 */
export const minViableGroup = (
  options: { readonly minSuccessful?: number; readonly maxRetries?: number } = {}
): FailurePolicy =>
  fromDescription({
    maxRetries: options.maxRetries ?? 3,
    minSuccessful: options.minSuccessful === undefined
      ? { unit: "share", value: 0.75 }
      : { unit: "members", value: options.minSuccessful },
    otherwise: { ...always("drop"), GraderFailed: "skip" }
  })

/** Whether the rollout needs a capability that its environment lacks, which no retry can mend. */
export const isMisuse = (failure: Failure) =>
  failure._tag === "StepFailed"
  && failure.error instanceof RolloutError
  && failure.error.reason._tag === "Unsupported"

/** The failure as one line. */
export const message = (failure: Failure): string => {
  if (failure._tag === "Died") return Cause.pretty(failure.cause).split("\n", 1).join("")
  return Predicate.isError(failure.error) ? failure.error.message : String(failure.error)
}

/** Fails with the failure's own error. */
export const raise = <E, PE>(failure: Failure<E, PE>): Effect.Effect<never, E | PE | RolloutError> =>
  failure._tag === "Died" ? Effect.failCause(failure.cause) : Effect.fail(failure.error)
