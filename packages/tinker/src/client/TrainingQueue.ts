/** The requests of one model: posted in order without waiting for results, whose failures nobody overlooks. */
import { type Pending, RequestQueue, TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Watchdog } from "./Watchdog.ts"
import { named, type WireError } from "./WireError.ts"

/** Posts, under sequence numbers of its own; what comes back gives the result. */
export type Submission<A> = (nextSeqId: () => number) => Effect.Effect<Effect.Effect<A, WireError>, WireError>

export interface Work<A> {
  readonly operation: string
  readonly submission: Submission<A>
  /** What becomes of the model: nothing, all of it or nothing of it, or possibly only some of it. */
  readonly change: "none" | "whole" | "piecewise"
}

export interface TrainingQueue {
  readonly submit: <A>(work: Work<A>) => Effect.Effect<Pending.Pending<A>, TinkerError.TinkerError>
  /** Whether nothing has been submitted yet. */
  readonly isFresh: () => boolean
  /** Refuses later calls; returns when those before are done. */
  readonly close: (detail: string) => Effect.Effect<void>
}

interface Trouble {
  readonly work: object
  readonly detail: string
}

/** The model may have changed in a way that nobody knows. */
const isUnclear = <A>({ change }: Work<A>, failure: WireError) =>
  change === "piecewise" || (change === "whole" && failure.mayBeDone)

export const make = Effect.fnUntraced(function*(watchdog: Watchdog) {
  const submissions = yield* RequestQueue.make
  const results = yield* RequestQueue.make
  let lastSeqId = 0
  let isFresh = true
  /** A failure nobody has awaited yet: what follows may rely on what failed. */
  let unseen: Trouble | undefined
  let latest: Trouble | undefined
  let brokenBecause: string | undefined

  const noticed = <A>(work: Work<A>) => (failure: WireError) =>
    Effect.flatMap(Effect.flip(named(work.operation)(Effect.fail(failure))), (error) =>
      Effect.sync(() => {
        latest = { work, detail: error.message }
        unseen ??= latest
        if (isUnclear(work, failure)) {
          brokenBecause ??= `${error.message}; the model's state is unknown, go on with a new client from a checkpoint`
        }
      }))

  /** What was submitted before the latest failure cannot have taken it into account, whoever awaits it by now. */
  const closed = (operation: string, known = latest) =>
    Effect.suspend(() => {
      const trouble = unseen ?? (latest === known ? undefined : latest)
      const detail = brokenBecause ?? (trouble === undefined ? undefined : `${trouble.detail}, and nobody had seen it`)
      return detail === undefined
        ? Effect.void
        : Effect.fail(new TinkerError.TinkerError({ operation, reason: new TinkerError.Closed({ detail }) }))
    })

  /** Never fails itself: a failure is part of what is handed to the other queue. */
  const posting = <A>(work: Work<A>) =>
    closed(work.operation).pipe(
      Effect.andThen(
        Effect.suspend(() => work.submission(() => ++lastSeqId)).pipe(
          Effect.tapError(noticed(work)),
          named(work.operation)
        )
      ),
      Effect.result
    )

  const submit: TrainingQueue["submit"] = Effect.fnUntraced(function*(work) {
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
