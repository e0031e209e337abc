/** Attempts at a member or a group: retries, the consequence of exhausted retries, and the release of resources. */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Grader from "../env/Grader.ts"
import type { MemberKey } from "../records/Key.ts"
import * as FailurePolicy from "./FailurePolicy.ts"
import type { FailureReport, Skipped } from "./GroupResult.ts"
import { ReleaseTimedOut, RolloutError } from "./RolloutError.ts"

/** How a group releases its resources. */
export interface Release {
  readonly group: string
  /** The time limit for releasing the resources of one scope. */
  readonly timeout: Duration.Duration
  /** Whether a release that dies or hangs aborts the group, like a defect; otherwise the group's result stands. */
  readonly aborts: boolean
}

const late = ({ group, timeout }: Release, member: number) =>
  Effect.die(new RolloutError({ group, member, reason: new ReleaseTimedOut({ limit: Duration.format(timeout) }) }))

/**
 * Closes a scope with a timeout. Finalizers cannot be interrupted, so they run in a separate fiber, which is abandoned after the timeout.
 */
const bounded = (scope: Scope.Closeable, exit: Exit.Exit<unknown, unknown>, release: Release, member: number) =>
  Effect.suspend(() => {
    const finalizers = Scope.closeUnsafe(scope, exit)
    if (finalizers === undefined) return Effect.void
    const started = Effect.forkDetach(finalizers, { startImmediately: true, uninterruptible: true })
    return Effect.flatMap(started, (fiber) =>
      fiber.pollUnsafe() ?? Fiber.await(fiber).pipe(
        Effect.timeoutOrElse({ duration: release.timeout, orElse: () => late(release, member) }),
        Effect.flatten
      ))
  })

/** Closes a scope. A release failure is raised only if `release.aborts` is set and nothing failed before; otherwise it is only logged. */
export const close = (
  scope: Scope.Closeable,
  exit: Exit.Exit<unknown, unknown>,
  release: Release,
  member: number
): Effect.Effect<void> =>
  Effect.catchCause(
    bounded(scope, exit, release, member),
    (cause: Cause.Cause<never>) =>
      release.aborts && Exit.isSuccess(exit)
        ? Effect.failCause(cause)
        : Effect.logError("a resource of an environment was not released", cause)
  )

/** A scope that closes with its parent, with its own timeout. */
export const childScope = (parent: Scope.Scope, release: Release, member: number) =>
  Effect.suspend(() => {
    const scope = Scope.makeUnsafe()
    return Effect.as(Scope.addFinalizerExit(parent, (exit) => close(scope, exit, release, member)), scope)
  })

/** Runs an effect in a child scope, which closes immediately if the effect fails. */
export const inChildScope = <A, E, R>(
  parent: Scope.Scope,
  release: Release,
  member: number,
  effect: Effect.Effect<A, E, R>
) =>
  Effect.flatMap(childScope(parent, release, member), (scope) =>
    effect.pipe(
      Scope.provide(scope),
      Effect.onExit((exit) => Exit.isFailure(exit) ? close(scope, exit, release, member) : Effect.void)
    ))

/**
 * Limits how long an interruption waits for an uninterruptible effect, such as an acquisition, to the release timeout. Resources that it
 * acquires later are released at once, because their scope is already closed.
 */
export const abandonable = <A, E, R>(effect: Effect.Effect<A, E, R>, release: Release, member: number) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(
      Effect.forkDetach(effect, { startImmediately: true }),
      (fiber) =>
        Effect.onInterrupt(restore(Fiber.join(fiber)), () =>
          Fiber.interrupt(fiber).pipe(
            Effect.timeoutOrElse({ duration: release.timeout, orElse: () => late(release, member) }),
            Effect.catchCause((cause) =>
              Effect.logError("an operation that could not be interrupted continues by itself", cause)
            )
          ))
    )
  )

type Failure<E, PE> = FailurePolicy.Failure<E, PE>

/** The failure of the last attempt. */
export interface Exhausted<out E, out PE> {
  readonly failure: Failure<E, PE>
  readonly report: FailureReport
}

/** How a failure stops a group: the group is skipped, or the whole rollout is aborted. */
export type Stop<E, PE> =
  | { readonly _tag: "Skip"; readonly reason: Skipped["reason"] }
  | { readonly _tag: "Abort"; readonly failure: Failure<E, PE>; readonly report: FailureReport }

/** The member index under which failures of the whole group are reported. */
export const wholeGroup = -1

/** The retries shared by a group's members; none are left once enough members have finished. */
export interface Budget {
  retries: number
  finished: number
  readonly enough: number
}

export const budget = (policy: FailurePolicy.FailurePolicy<never, never>, size: number): Budget => ({
  retries: policy.maxRetries ?? Infinity,
  finished: 0,
  enough: policy.minSuccessful?.(size) ?? Infinity
})

const takeRetry = (budget: Budget) => {
  if (budget.retries < 1 || budget.finished >= budget.enough) return false
  budget.retries--
  return true
}

const report = (member: number, attempt: number, failure: Failure<unknown, unknown>): FailureReport => ({
  member,
  attempt,
  failure: failure._tag,
  message: FailurePolicy.message(failure)
})

/** Retries after a first failure. It is separate because most attempts succeed and need no schedule. */
const retry = <A, E, R>(next: Effect.Effect<A, E, R>, first: E, schedule: Schedule.Schedule<unknown, E>) => {
  let isFirst = true
  const attempt = Effect.suspend(() => {
    if (!isFirst) return next
    isFirst = false
    return Effect.fail(first)
  })
  return Effect.retry(attempt, schedule)
}

/** What an attempt belongs to: a member, or the group as a whole. */
type Part = Pick<MemberKey, "group" | "member">

/** The failure for a defect: `Ungraded` if a grader threw or hung, otherwise `Died`. */
const failureOf = <E, PE>(defect: unknown, { group, member }: Part): Failure<E, PE> =>
  Grader.isUngraded(defect)
    ? { _tag: "Ungraded", error: new RolloutError({ group, member, reason: defect }) }
    : { _tag: "Died", cause: Cause.die(defect) }

/**
 * Turns defects into failures, including those that occur while an interrupted member releases its resources. Otherwise one member's defect
 * would turn the outcome of the whole group into a defect.
 */
export const caught = <A, E, PE, R>(attempt: Effect.Effect<A, Failure<E, PE>, R>, part: Part) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.catchDefect(restore(attempt), (defect) => Effect.fail(failureOf<E, PE>(defect, part)))
  )

/** Runs attempts 0, 1, … as long as the policy retries. Failures that a later attempt recovered from are added to `retried`. */
export const run = <A, E, PE, R>(
  attempt: (attempt: number) => Effect.Effect<A, Failure<E, PE>, R>,
  options: Part & {
    readonly policy: FailurePolicy.FailurePolicy<E, PE>
    readonly budget: Budget
    readonly retried: Array<FailureReport>
  }
): Effect.Effect<A, Exhausted<E, PE>, R> =>
  Effect.suspend(() => {
    let count = 0
    const next = Effect.suspend(() => caught(attempt(count), options)).pipe(
      Effect.tapError((failure) => Effect.sync(() => options.retried.push(report(options.member, count++, failure))))
    )
    return Effect.catch(next, (first) => {
      const schedule = Schedule.while(
        options.policy.retry,
        ({ input }) => !FailurePolicy.isMisuse(input) && takeRetry(options.budget)
      )
      return Effect.mapError(retry(next, first, schedule), (failure) => {
        const last = options.retried.findLastIndex((made) => made.member === options.member)
        options.retried.splice(last, 1)
        return { failure, report: report(options.member, count - 1, failure) }
      })
    })
  })

/** Applies the configured consequence of a failure; for `drop`, it continues with the result of `drop`. */
export const settle = <A, E, PE, R>(
  effect: Effect.Effect<A, Exhausted<E, PE>, R>,
  policy: FailurePolicy.FailurePolicy<E, PE>,
  drop: (report: FailureReport) => Effect.Effect<A, Stop<E, PE>>
): Effect.Effect<A, Stop<E, PE>, R> =>
  Effect.catch(effect, ({ failure, report }): Effect.Effect<A, Stop<E, PE>> => {
    switch (FailurePolicy.isMisuse(failure) ? "abort" : policy.otherwise[failure._tag]) {
      case "abort":
        return Effect.fail({ _tag: "Abort", failure, report })
      case "skip":
        return skip(report)
      case "drop":
        return drop(report)
    }
  })

/** Skips the group; used for failures of the whole group, for which `drop` also means `skip`. */
export const skip = (reason: Skipped["reason"]) => Effect.fail({ _tag: "Skip", reason } as const)
