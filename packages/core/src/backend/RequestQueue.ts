/** Runs the calls of one training client one after another in submission order, and returns each as a `Pending`. */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import type { Pending } from "./Pending.ts"
import { Closed, TinkerError } from "./TinkerError.ts"

/** A queue of calls, which run one after another. */
export interface RequestQueue {
  /**
   * Accepts a call; `operation` names it in errors. Fails as `Closed` if the queue is closed or an earlier failure was never awaited. If a
   * call with `isDecisive` fails, the calls submitted before its failure do not run and fail as `Closed`.
   */
  readonly submit: <A, E>(
    operation: string,
    call: Effect.Effect<A, E>,
    options?: { readonly isDecisive?: boolean }
  ) => Effect.Effect<Pending<A, E | TinkerError>, TinkerError>
  /** Refuses later calls, and returns when the earlier ones are done. */
  readonly close: (detail: string) => Effect.Effect<void>
  /** The number of accepted calls that have not been answered yet. */
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

const failureDetail = (cause: Cause.Cause<unknown>) =>
  Option.match(Option.filter(Cause.findErrorOption(cause), (error) => error instanceof TinkerError), {
    onNone: () => Cause.pretty(cause),
    onSome: (error) => error.reason.message
  })

/**
 * Creates a queue that runs calls until the scope closes. Closing the scope interrupts the running call, waits for its end, and lets all
 * unanswered calls fail as `Closed`.
 *
 * @example
 * Effect.gen(function*() {
 *   const queue = yield* RequestQueue.make
 *   const pending = yield* queue.submit("forward", Effect.succeed(1))
 *   return yield* pending.await
 * })
 */
export const make: Effect.Effect<RequestQueue, never, Scope.Scope> = Effect.gen(function*() {
  const calls = yield* Queue.unbounded<Entry>()
  const unanswered = new Set<Entry>()
  let closedBecause: string | undefined
  /** The first failure that has not been awaited yet. Because of it, the next call is refused, and so are all later ones. */
  let unseen: Failure | undefined
  let failedBecause: string | undefined
  /** The latest failure of a call with `isDecisive`. */
  let decisive: Failure | undefined

  const failure = () => {
    if (failedBecause === undefined && unseen !== undefined) {
      failedBecause = `${unseen.operation} failed and nobody awaited it: ${unseen.detail}`
    }
    return failedBecause
  }

  /** Describes the latest decisive failure, if it happened after `known`; undefined otherwise. */
  const failureSince = (known: Failure | undefined) =>
    decisive === undefined || decisive === known
      ? undefined
      : `${decisive.operation} failed after this was submitted: ${decisive.detail}`

  const accept = <A, E>(
    operation: string,
    call: Effect.Effect<A, E>,
    isDecisive: boolean
  ): Pending<A, E | TinkerError> => {
    const result = Deferred.makeUnsafe<A, E | TinkerError>()
    const known = decisive
    let awaiting = 0
    const settle = (exit: Exit.Exit<A, E | TinkerError>) => {
      unanswered.delete(entry)
      if (Exit.isFailure(exit)) {
        const failure = { call: result, operation, detail: failureDetail(exit.cause) }
        if (isDecisive) decisive = failure
        if (awaiting === 0) unseen ??= failure
      }
      Deferred.doneUnsafe(result, exit)
    }
    const refuse = (detail: string) => settle(Exit.fail(closed(operation, detail)))
    const guarded = Effect.suspend((): Effect.Effect<A, E | TinkerError> => {
      const detail = failure() ?? failureSince(known)
      return detail === undefined ? call : Effect.fail(closed(operation, detail))
    })
    const entry: Entry = {
      refuse,
      run: Effect.onExit(
        guarded,
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

  const submit: RequestQueue["submit"] = (operation, call, { isDecisive = false } = {}) =>
    Effect.suspend(() => {
      const detail = closedBecause ?? failure()
      return detail === undefined
        ? Effect.succeed(accept(operation, call, isDecisive))
        : Effect.fail(closed(operation, detail))
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
        const last = closedBecause === undefined ? accept("close", Effect.void, false).await : Effect.void
        closedBecause ??= detail
        return Effect.ignore(last)
      }),
    size: () => unanswered.size
  }
})
