/** Failure policies of rollouts: when to retry, and what happens to a member or a group whose retries are exhausted. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { FailureTag } from "./GroupResult.ts"
import { RolloutError } from "./RolloutError.ts"

/** A failure in a group, tagged with the part that failed. */
export type Failure<E = unknown, PE = unknown> =
  | { readonly _tag: "AcquireFailed"; readonly error: E }
  | { readonly _tag: "StepFailed"; readonly error: E | RolloutError }
  | { readonly _tag: "GraderFailed"; readonly error: E | RolloutError }
  | { readonly _tag: "Ungraded"; readonly error: RolloutError }
  | { readonly _tag: "PolicyFailed"; readonly error: PE | RolloutError }
  | { readonly _tag: "HookFailed"; readonly error: E }
  | { readonly _tag: "TimedOut"; readonly error: RolloutError }
  | { readonly _tag: "Died"; readonly cause: Cause.Cause<never> }

/**
 * What a failure causes: `drop` leaves out the member, `skip` leaves out the group, and `abort` stops everything with the failure's own
 * error.
 */
export const Consequence = Schema.Literals(["drop", "skip", "abort"])
export type Consequence = typeof Consequence.Type

/** The consequence of each kind of failure. */
export const Otherwise = Schema.Record(FailureTag, Consequence)
export type Otherwise = typeof Otherwise.Type

/** A failure policy as data that can be sent to another process. */
export const Description = Schema.Struct({
  maxRetries: Schema.Number,
  /** The number of members that must finish, absolute or as a share of the group, rounded up. */
  minSuccessful: Schema.optionalKey(
    Schema.Struct({ unit: Schema.Literals(["members", "share"]), value: Schema.Number })
  ),
  otherwise: Otherwise
})
export interface Description extends Schema.Schema.Type<typeof Description> {}

/**
 * What happens when a member fails: it is retried while the schedule and the group's budget allow, then the consequence of its kind of
 * failure applies. A retry acquires a new environment. A grader failure, and any failure in a coupled group, concerns the whole group, so
 * `drop` means `skip`. A missing capability (`Unsupported`) always fails at once.
 *
 * @example
 * const rollout = { onFailure: FailurePolicy.minViableGroup({ minSuccessful: 4, maxRetries: 2 }) }
 * Rl.run({ model, dataset, rollout })
 *
 * @see tinker-cookbook `RolloutStrategy`
 */
export interface FailurePolicy<in E = unknown, in PE = unknown> {
  readonly retry: Schedule.Schedule<unknown, Failure<E, PE>>
  /** The maximum number of retries for all members of a group together; default: as many as the schedule allows. */
  readonly maxRetries?: number
  /**
   * The number of members that must finish, given the group's size. Retries stop at this number; a group with fewer finished members is
   * skipped.
   */
  readonly minSuccessful?: (size: number) => number
  readonly otherwise: Otherwise
}

const isGraders = (failure: Failure) => failure._tag === "GraderFailed" || failure._tag === "Ungraded"

/** A schedule that retries immediately, but not after a grader failure, because the grader would be asked about the same members again. */
const members: Schedule.Schedule<unknown, Failure> = Schedule.identity<Failure>().pipe(
  Schedule.while(({ input }) => !isGraders(input))
)

const descriptions = new WeakMap<object, Description>()

/** The policy as data; undefined if this module did not make the policy, for example if it is a modified copy. */
export const description = (policy: FailurePolicy<never, never>): Description | undefined => descriptions.get(policy)

const described = (policy: FailurePolicy, description: Description): FailurePolicy => {
  descriptions.set(policy, description)
  return policy
}

/** A policy from data. Failed members are retried immediately; failed graders are not. */
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

/**
 * The same consequence for every kind of failure.
 *
 * @example
 * const onFailure = FailurePolicy.fromDescription({
 *   maxRetries: 1,
 *   otherwise: { ...FailurePolicy.always("drop"), PolicyFailed: "abort" }
 * })
 */
export const always = (consequence: Consequence): Otherwise => ({
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
 * The default policy. Stops everything at the first failure, with one exception: a grader that throws or hangs drops its member, or skips
 * its group if it grades the group.
 */
export const dropUngraded: FailurePolicy = fromDescription({
  maxRetries: 0,
  otherwise: { ...always("abort"), Ungraded: "drop" }
})

/**
 * Retries failed members, up to `maxRetries` (default 3) times per group; a further failure skips the group.
 *
 * @see tinker-cookbook `RetryOnFailure`
 */
export const retryOnFailure = (options: { readonly maxRetries?: number } = {}): FailurePolicy =>
  fromDescription({ maxRetries: options.maxRetries ?? 3, otherwise: always("skip") })

/**
 * Continues if at least `minSuccessful` members finished, by default three quarters of the group, rounded up. Below that number, failed
 * members are retried, up to `maxRetries` (default 3) times per group; if too few members finish, the group is skipped.
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

/** Whether the rollout needs a capability that its environment lacks, which no retry can fix. */
export const isMisuse = (failure: Failure) =>
  failure._tag === "StepFailed"
  && failure.error instanceof RolloutError
  && failure.error.reason._tag === "Unsupported"

/** The failure as a one-line message. */
export const message = (failure: Failure): string => {
  if (failure._tag === "Died") return Cause.pretty(failure.cause).split("\n", 1).join("")
  return Predicate.isError(failure.error) ? failure.error.message : String(failure.error)
}

/** Fails with the failure's own error; dies if the failure is a defect. */
export const raise = <E, PE>(failure: Failure<E, PE>): Effect.Effect<never, E | PE | RolloutError> =>
  failure._tag === "Died" ? Effect.failCause(failure.cause) : Effect.fail(failure.error)
