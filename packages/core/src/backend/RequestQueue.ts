/** The calls of one training client, run one after another in the order they were submitted: what `Pending` promises. */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import type { Pending } from "./Pending.ts"
import { Closed, TinkerError } from "./TinkerError.ts"

export interface RequestQueue {
  /** Accepts a call, which may already fail as `Closed`; `operation` names it in errors. */
  readonly submit: <A>(
    operation: string,
    call: Effect.Effect<A, TinkerError>
  ) => Effect.Effect<Pending<A>, TinkerError>
  /** Refuses later calls; returns when those submitted before are done. */
  readonly close: (detail: string) => Effect.Effect<void>
  /** Calls accepted and not yet answered. */
  readonly size: () => number
}

interface Entry {
  readonly run: Effect.Effect<void>
  readonly refuse: (detail: string) => void
}

interface Failure {
  readonly call: object
  readonly operation: string
  readonly detail: string
}

const closed = (operation: string, detail: string) => new TinkerError({ operation, reason: new Closed({ detail }) })

const scopeClosed = "the scope of the training client closed"

const failureDetail = (cause: Cause.Cause<TinkerError>) =>
  Option.match(Cause.findErrorOption(cause), {
    onNone: () => Cause.pretty(cause),
    onSome: (error) => error.reason.message
  })

/** Runs calls until the scope closes, which waits for the one that runs. */
export const make: Effect.Effect<RequestQueue, never, Scope.Scope> = Effect.gen(function*() {
  const calls = yield* Queue.unbounded<Entry>()
  const unanswered = new Set<Entry>()
  let closedBecause: string | undefined
  /** The first failure nobody has awaited yet; a later call that meets it closes the client. */
  let unseen: Failure | undefined
  let failedBecause: string | undefined

  const failure = () => {
    if (failedBecause === undefined && unseen !== undefined) {
      failedBecause = `${unseen.operation} failed and nobody awaited it: ${unseen.detail}`
    }
    return failedBecause
  }

  const accept = <A>(operation: string, call: Effect.Effect<A, TinkerError>): Pending<A> => {
    const result = Deferred.makeUnsafe<A, TinkerError>()
    let awaiting = 0
    const settle = (exit: Exit.Exit<A, TinkerError>) => {
      unanswered.delete(entry)
      if (Exit.isFailure(exit) && awaiting === 0) {
        unseen ??= { call: result, operation, detail: failureDetail(exit.cause) }
      }
      Deferred.doneUnsafe(result, exit)
    }
    const refuse = (detail: string) => settle(Exit.fail(closed(operation, detail)))
    const run = Effect.suspend(() => {
      const detail = failure()
      return detail === undefined ? call : Effect.fail(closed(operation, detail))
    })
    const entry: Entry = {
      refuse,
      run: Effect.onExit(
        run,
        (exit) => Effect.sync(() => Exit.hasInterrupts(exit) ? refuse(scopeClosed) : settle(exit))
      ).pipe(
        Effect.exit,
        Effect.asVoid
      )
    }
    unanswered.add(entry)
    Queue.offerUnsafe(calls, entry)
    return {
      await: Effect.suspend(() => {
        awaiting++
        if (unseen?.call === result) unseen = undefined
        return Effect.onInterrupt(Deferred.await(result), () => Effect.sync(() => awaiting--))
      })
    }
  }

  yield* Queue.take(calls).pipe(
    Effect.flatMap((entry) => unanswered.has(entry) ? entry.run : Effect.void),
    Effect.forever,
    Effect.forkScoped
  )

  const submit: RequestQueue["submit"] = (operation, call) =>
    Effect.suspend(() => {
      const detail = closedBecause ?? failure()
      return detail === undefined ? Effect.succeed(accept(operation, call)) : Effect.fail(closed(operation, detail))
    })

  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      closedBecause ??= scopeClosed
      for (const entry of unanswered) entry.refuse(closedBecause)
    })
  )

  return {
    submit,
    close: (detail) =>
      Effect.suspend(() => {
        const last = closedBecause === undefined ? accept("close", Effect.void).await : Effect.void
        closedBecause ??= detail
        return Effect.ignore(last)
      }),
    size: () => unanswered.size
  }
})
