/** The requests of one training client, one after the other. */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Ref from "effect/Ref"
import type { Pending } from "../backend/Pending.ts"
import { Closed, TinkerError } from "../backend/TinkerError.ts"

interface Request {
  readonly operation: string
  readonly run: Effect.Effect<void>
  readonly fail: (error: TinkerError) => Effect.Effect<void>
  /** Why it failed, where nobody has asked for the result. */
  readonly lost: Effect.Effect<Option.Option<string>>
}

const why = (cause: Cause.Cause<TinkerError>) =>
  Option.match(Cause.findErrorOption(cause), {
    onNone: () => Cause.pretty(cause),
    onSome: (error) => error.reason.message
  })

const makeRequest = Effect.fnUntraced(function*<A>(operation: string, run: Effect.Effect<A, TinkerError>) {
  const result = yield* Deferred.make<A, TinkerError>()
  const isAwaited = yield* Ref.make(false)
  const pending: Pending<A> = { await: Effect.andThen(Ref.set(isAwaited, true), Deferred.await(result)) }
  const request: Request = {
    operation,
    run: Effect.asVoid(Deferred.into(run, result)),
    fail: (error) => Effect.asVoid(Deferred.fail(result, error)),
    lost: Effect.gen(function*() {
      if (yield* Ref.get(isAwaited)) return Option.none()
      const exit = yield* Effect.exit(Deferred.await(result))
      return Exit.isSuccess(exit)
        ? Option.none()
        : Option.some(`${operation} failed and nobody awaited it: ${why(exit.cause)}`)
    })
  }
  return { request, pending }
})

const closed = (operation: string, detail: string) => new TinkerError({ operation, reason: new Closed({ detail }) })

/**
 * Runs requests in the order they were submitted, in the surrounding scope. A request that fails before anybody awaits it
 * closes the queue; what is left when the queue or the scope closes fails as `Closed`.
 */
export const make = Effect.gen(function*() {
  const requests = yield* Queue.unbounded<Request>()
  const closing = yield* Ref.make(Option.none<string>())
  const unsettled = new Set<Request>()

  const runOne = Effect.fnUntraced(function*(before: Option.Option<Request>) {
    const request = yield* Queue.take(requests)
    if (Option.isSome(before)) {
      const lost = yield* before.value.lost
      if (Option.isSome(lost)) yield* Ref.set(closing, lost)
    }
    const detail = yield* Ref.get(closing)
    yield* Option.isSome(detail) ? request.fail(closed(request.operation, detail.value)) : request.run
    unsettled.delete(request)
    return Option.isSome(detail) ? before : Option.some(request)
  })
  const work = Effect.gen(function*() {
    let before = Option.none<Request>()
    while (true) before = yield* runOne(before)
  })
  yield* Effect.forkScoped(work)
  yield* Effect.addFinalizer(() =>
    Effect.gen(function*() {
      const detail = "the scope of the training client closed"
      yield* Ref.set(closing, Option.some(detail))
      yield* Effect.forEach(unsettled, (request) => request.fail(closed(request.operation, detail)), { discard: true })
    })
  )

  return {
    /** Accepts a request unless the queue is closed. */
    submit: Effect.fnUntraced(function*<A>(operation: string, run: Effect.Effect<A, TinkerError>) {
      const detail = yield* Ref.get(closing)
      if (Option.isSome(detail)) return yield* closed(operation, detail.value)
      const { pending, request } = yield* makeRequest(operation, run)
      unsettled.add(request)
      yield* Queue.offer(requests, request)
      return pending
    }),
    /** Later requests fail as `Closed`. */
    close: (detail: string) => Ref.set(closing, Option.some(detail))
  }
})

export type RequestQueue = Effect.Success<typeof make>
