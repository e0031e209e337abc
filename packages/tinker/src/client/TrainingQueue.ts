/** The requests of one model: posted in order without waiting for results, whose failures are not overlooked. */
import { TinkerError } from "@effect-rl/core"
import { type Pending, RequestQueue } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import * as Formatter from "effect/Formatter"
import * as Result from "effect/Result"
import type { Watchdog } from "./Watchdog.ts"
import { named, toReason, type WireError } from "./WireError.ts"

/** A failure before anything was posted that changes the model, with the error that the caller gets. */
export class Unchanged<out E> {
  readonly _tag = "Unchanged"
  readonly error: E
  constructor(error: E) {
    this.error = error
  }
}

/**
 * Posts, under sequence numbers of its own; the effect that comes back gives the result. A result that is needed before the
 * rest is posted is awaited under the watchdog.
 */
export type Submission<A, E = WireError> = (
  nextSeqId: () => number,
  watchdog: Watchdog
) => Effect.Effect<Effect.Effect<A, WireError>, E>

export interface Work<A, E = never> {
  readonly operation: string
  readonly submission: Submission<A, WireError | Unchanged<E>>
  /** The effect of a failed request on the model: none, all or nothing, or possibly a part. */
  readonly change: "none" | "whole" | "piecewise"
}

export interface TrainingQueue {
  readonly submit: <A, E = never>(
    work: Work<A, E>
  ) => Effect.Effect<Pending.Pending<A, E | TinkerError.TinkerError>, TinkerError.TinkerError>
  /** Whether nothing has been submitted yet. */
  readonly isFresh: () => boolean
  /** Refuses later calls; returns when earlier ones are done. */
  readonly close: (detail: string) => Effect.Effect<void>
}

interface Trouble {
  readonly work: object
  readonly detail: string
}

type Failure<E> = WireError | Unchanged<E>

/** An item that is handed from one queue to the other. */
type Posted<A, E> = Result.Result<Effect.Effect<A, WireError>, E | TinkerError.TinkerError>

/** Whether the model may have changed in an unknown way. */
const isUnclear = <A, E>({ change }: Work<A, E>, failure: Failure<E>) =>
  failure._tag === "WireError" && (change === "piecewise" || (change === "whole" && failure.mayBeDone))

/** The result that the caller gets. */
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
  /** A failure that was not awaited yet: later requests may rely on the one that failed. */
  let unseen: Trouble | undefined
  let latest: Trouble | undefined
  let brokenBecause: string | undefined

  const noticed = <A, E>(work: Work<A, E>) => (failure: Failure<E>) =>
    Effect.sync(() => {
      const error = errorOf(work.operation, failure)
      latest = { work, detail: messageOf(error) }
      unseen ??= latest
      if (isUnclear(work, failure)) {
        brokenBecause ??= `${messageOf(error)}; the model's state is unknown, go on with a new client from a checkpoint`
      }
      return error
    })

  /** A request that was submitted before the latest failure cannot have taken it into account, awaited or not. */
  const closed = (operation: string, known = latest) =>
    Effect.suspend(() => {
      const trouble = unseen ?? (latest === known ? undefined : latest)
      const detail = brokenBecause ??
        (trouble === undefined ? undefined : `${trouble.detail}, and its failure was not awaited`)
      return detail === undefined
        ? Effect.void
        : Effect.fail(new TinkerError.TinkerError({ operation, reason: new TinkerError.Closed({ detail }) }))
    })

  /** Never fails: a failure is part of the result handed to the other queue. */
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
