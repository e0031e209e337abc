/** Attempts at a member or a group: retries, and the consequence when they do not help. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Grader from "../env/Grader.ts"
import type { MemberKey } from "../records/Key.ts"
import * as FailurePolicy from "./FailurePolicy.ts"
import type { FailureReport, Skipped } from "./GroupResult.ts"
import { RolloutError } from "./RolloutError.ts"

type Failure<E, PE> = FailurePolicy.Failure<E, PE>

/** The last attempt's failure. */
export interface Exhausted<out E, out PE> {
  readonly failure: Failure<E, PE>
  readonly report: FailureReport
}

/** How a failure leaves a group: without the group, or with everything. */
export type Stop<E, PE> =
  | { readonly _tag: "Skip"; readonly reason: Skipped["reason"] }
  | { readonly _tag: "Abort"; readonly failure: Failure<E, PE>; readonly report: FailureReport }

/** Failures of the group itself are reported under this member. */
export const wholeGroup = -1

/** The retries that a group's members share, until enough of them have finished. */
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

/** Continues after a first failure. It is separate because most attempts succeed and need no schedule. */
const retry = <A, E, R>(next: Effect.Effect<A, E, R>, first: E, schedule: Schedule.Schedule<unknown, E>) => {
  let isFirst = true
  const attempt = Effect.suspend(() => {
    if (!isFirst) return next
    isFirst = false
    return Effect.fail(first)
  })
  return Effect.retry(attempt, schedule)
}

/** The part of a group that an attempt is at: a member, or the group as a whole. */
type Part = Pick<MemberKey, "group" | "member">

/** The failure behind a defect: a grader that threw or hung, or any other. */
const failureOf = <E, PE>(defect: unknown, { group, member }: Part): Failure<E, PE> =>
  Grader.isUngraded(defect)
    ? { _tag: "Ungraded", error: new RolloutError({ group, member, reason: defect }) }
    : { _tag: "Died", cause: Cause.die(defect) }

/**
 * Turns a defect into a failure, also one that occurs while an interrupted member releases its resources: a defect among the siblings of
 * a group that ends would make everything else a defect too.
 */
export const caught = <A, E, PE, R>(attempt: Effect.Effect<A, Failure<E, PE>, R>, part: Part) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.catchDefect(restore(attempt), (defect) => Effect.fail(failureOf<E, PE>(defect, part)))
  )

/** Runs attempts 0, 1, … while the policy retries. Reports of failures that a retry made good go to `retried`. */
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

/** Stops as configured for this kind of failure; where dropping is configured, continues with the result of `drop`. */
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

/** The consequence of a failure of the whole group, for which dropping means skipping. */
export const skip = (reason: Skipped["reason"]) => Effect.fail({ _tag: "Skip", reason } as const)
