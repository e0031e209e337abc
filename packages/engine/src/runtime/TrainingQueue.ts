/** The calls of one training client, run one after another in the order they were submitted. */
import { type Pending, TinkerError } from "@effect-rl/core"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"

export interface TrainingQueue {
  /** Accepts a call, which may already fail as `Closed`; `operation` names it in errors. */
  readonly submit: <A>(
    operation: string,
    call: Effect.Effect<A, TinkerError.TinkerError>
  ) => Effect.Effect<Pending.Pending<A>, TinkerError.TinkerError>
  /** Refuses later calls and fails those that wait; the one that runs goes on. */
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

const closed = (operation: string, detail: string) =>
  new TinkerError.TinkerError({ operation, reason: new TinkerError.Closed({ detail }) })

const failureDetail = (cause: Cause.Cause<TinkerError.TinkerError>) =>
  Option.match(Cause.findErrorOption(cause), {
    onNone: () => Cause.pretty(cause),
    onSome: (error) => error.reason.message
  })

/** Runs calls until the scope closes, which waits for the one that runs. */
export const make: Effect.Effect<TrainingQueue, never, Scope.Scope> = Effect.gen(function*() {
  const calls = yield* Queue.unbounded<Entry>()
  const unanswered = new Set<Entry>()
  let running: Entry | undefined
  let closedBecause: string | undefined
  /** The first failure nobody has awaited yet; a later call that meets it closes the client. */
  let unseen: Failure | undefined

  const refusal = () => {
    if (closedBecause === undefined && unseen !== undefined) {
      closedBecause = `an earlier ${unseen.operation} failed and nobody awaited it: ${unseen.detail}`
    }
    return closedBecause
  }

  const accept = <A>(operation: string, call: Effect.Effect<A, TinkerError.TinkerError>): Pending.Pending<A> => {
    const result = Deferred.makeUnsafe<A, TinkerError.TinkerError>()
    let isAwaited = false
    const settle = (exit: Exit.Exit<A, TinkerError.TinkerError>) => {
      unanswered.delete(entry)
      if (Exit.isFailure(exit) && !isAwaited) {
        unseen ??= { call: result, operation, detail: failureDetail(exit.cause) }
      }
      Deferred.doneUnsafe(result, exit)
    }
    const refuse = (detail: string) => settle(Exit.fail(closed(operation, detail)))
    const run = Effect.suspend(() => {
      running = entry
      const detail = refusal()
      return detail === undefined ? call : Effect.fail(closed(operation, detail))
    })
    const entry: Entry = {
      refuse,
      run: Effect.onExit(
        run,
        (exit) =>
          Effect.sync(() => Exit.hasInterrupts(exit) ? refuse("the training client's scope was closed") : settle(exit))
      ).pipe(
        Effect.exit,
        Effect.asVoid
      )
    }
    unanswered.add(entry)
    Queue.offerUnsafe(calls, entry)
    return {
      await: Effect.suspend(() => {
        isAwaited = true
        if (unseen?.call === result) unseen = undefined
        return Deferred.await(result)
      })
    }
  }

  yield* Queue.take(calls).pipe(
    Effect.flatMap((entry) => unanswered.has(entry) ? entry.run : Effect.void),
    Effect.forever,
    Effect.forkScoped
  )

  return {
    submit: (operation, call) =>
      Effect.suspend(() => {
        const detail = refusal()
        return detail === undefined ? Effect.succeed(accept(operation, call)) : Effect.fail(closed(operation, detail))
      }),
    close: (detail) =>
      Effect.sync(() => {
        closedBecause ??= detail
        for (const entry of unanswered) if (entry !== running) entry.refuse(detail)
      }),
    size: () => unanswered.size
  }
})
