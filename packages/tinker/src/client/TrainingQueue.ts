/**
 * Queues the requests of one model. They are posted in order without waiting for results. After a failure that no
 * caller has awaited, later requests fail too.
 */
import { TinkerError } from "@effect-rl/core"
import { type Pending, RequestQueue } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import * as Formatter from "effect/Formatter"
import * as Result from "effect/Result"
import type { Watchdog } from "./Watchdog.ts"
import { named, toReason, type WireError } from "./WireError.ts"

/** A failure before the model could change, with the error for the caller. */
export class Unchanged<out E> {
  readonly _tag = "Unchanged"
  readonly error: E
  constructor(error: E) {
    this.error = error
  }
}

/**
 * Posts a request under its own sequence numbers and returns an effect for the result. Intermediate results that are needed for further
 * posts are awaited under the watchdog.
 */
export type Submission<A, E = WireError> = (
  nextSeqId: () => number,
  watchdog: Watchdog
) => Effect.Effect<Effect.Effect<A, WireError>, E>

export interface Work<A, E = never> {
  readonly operation: string
  readonly submission: Submission<A, WireError | Unchanged<E>>
  /**
   * What a failed request may have changed in the model. `none`: nothing. `whole`: everything or nothing. `piecewise`:
   * possibly a part.
   */
  readonly change: "none" | "whole" | "piecewise"
}

export interface TrainingQueue {
  readonly submit: <A, E = never>(
    work: Work<A, E>
  ) => Effect.Effect<Pending.Pending<A, E | TinkerError.TinkerError>, TinkerError.TinkerError>
  /** Whether nothing has been submitted yet. */
  readonly isFresh: () => boolean
  /** Refuses later calls, and returns when the earlier ones are done. */
  readonly close: (detail: string) => Effect.Effect<void>
}

interface Trouble {
  readonly work: object
  readonly detail: string
}

type Failure<E> = WireError | Unchanged<E>

/** An item passed from the posting queue to the result queue. */
type Posted<A, E> = Result.Result<Effect.Effect<A, WireError>, E | TinkerError.TinkerError>

/** Whether the model may have changed in an unknown way. */
const isUnclear = <A, E>({ change }: Work<A, E>, failure: Failure<E>) =>
  failure._tag === "WireError" && (change === "piecewise" || (change === "whole" && failure.mayBeDone))

/** The error that the caller gets for a failure. */
const errorOf = <E>(operation: string, failure: Failure<E>): E | TinkerError.TinkerError =>
  failure._tag === "WireError"
    ? new TinkerError.TinkerError({ operation, reason: toReason(failure), cause: failure })
    : failure.error

const messageOf = (error: unknown) => error instanceof Error ? error.message : Formatter.format(error)

export const make = Effect.fnUntraced(function*(watchdog: Watchdog) {
  const submissions = yield* RequestQueue.make
  const results = yield* RequestQueue.make
  let lastSeqId = 0
  let isFresh = true
  /**
   * The latest failure that no caller has awaited yet. Later requests fail, because they may rely on the failed one.
   */
  let unseen: Trouble | undefined
  let latest: Trouble | undefined
  let brokenBecause: string | undefined

  const noticed = <A, E>(work: Work<A, E>) => (failure: Failure<E>) =>
    Effect.sync(() => {
      const error = errorOf(work.operation, failure)
      latest = { work, detail: messageOf(error) }
      unseen ??= latest
      if (isUnclear(work, failure)) {
        brokenBecause ??= `${
          messageOf(error)
        }; the model's state is unknown, continue with a new client from a checkpoint`
      }
      return error
    })

  /**
   * Fails if the model's state is unknown, if a failure has not been awaited, or if the request was submitted before the latest failure and
   * so cannot have taken it into account.
   */
  const closed = (operation: string, known = latest) =>
    Effect.suspend(() => {
      const trouble = unseen ?? (latest === known ? undefined : latest)
      const detail = brokenBecause ??
        (trouble === undefined ? undefined : `${trouble.detail}, and its failure was not awaited`)
      return detail === undefined
        ? Effect.void
        : Effect.fail(new TinkerError.TinkerError({ operation, reason: new TinkerError.Closed({ detail }) }))
    })

  /** Posts a request. Never fails: a failure is passed to the result queue as a value. */
  const posting = <A, E>(work: Work<A, E>): Effect.Effect<Posted<A, E>> =>
    closed(work.operation).pipe(
      Effect.andThen(
        Effect.suspend(() => work.submission(() => ++lastSeqId, watchdog)).pipe(
          Effect.catch((failure: Failure<E>) => Effect.flatMap(noticed(work)(failure), Effect.fail))
        )
      ),
      Effect.result
    )

  const submit: TrainingQueue["submit"] = Effect.fnUntraced(function*<A, E>(work: Work<A, E>) {
    yield* closed(work.operation)
    isFresh = false
    const posted = yield* submissions.submit(work.operation, posting(work))
    const pending = yield* results.submit(
      work.operation,
      Effect.flatMap(
        posted.await,
        Result.match({
          onSuccess: (result) => named(work.operation)(Effect.tapError(watchdog.watch(result), noticed(work))),
          onFailure: (error) => Effect.fail(error)
        })
      )
    )
    const seen = Effect.sync(() => {
      if (unseen?.work === work) unseen = undefined
    })
    return { await: Effect.tapError(pending.await, () => seen) }
  })

  const close = (detail: string) => Effect.andThen(submissions.close(detail), results.close(detail))

  const queue: TrainingQueue = { submit, isFresh: () => isFresh, close }
  return queue
})
