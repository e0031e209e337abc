/** Accepted requests and their results, which are kept as long as a client may ask for them again. */
import { TinkerError } from "@effect-rl/core"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Answer from "./Answer.ts"
import { Caller } from "./Caller.ts"
import * as Completions from "./Completions.ts"
import { HttpRefusal, notFound, tooMany } from "./HttpRefusal.ts"

type Work = Effect.Effect<Answer.Answer, TinkerError.TinkerError>
type Result = Exit.Exit<Answer.Answer, TinkerError.TinkerError>

export interface Order {
  readonly work: Work
  /** Tokens in the result or held by the request; they count until the result is forgotten. */
  readonly tokens?: number
  /** A repeated `key` identifies the same request; different `content` is a conflict. */
  readonly once?: { readonly key: string; readonly content: string }
  /** Closing this scope cancels the request. Default: the server's scope. */
  readonly scope?: Scope.Scope
  /** The request's target; a poll can wait for all requests with the same target. */
  readonly target?: string
  /** The requesting client's session. Delivered results are forgotten when the session finishes. */
  readonly session?: string
}

export interface Futures {
  /**
   * Starts the work and returns its id immediately, or returns the id of an earlier order with the same `once`. Refuses the work if the
   * caller already holds too many tokens or the server is stopping.
   */
  readonly begin: (order: Order) => Effect.Effect<string, HttpRefusal, Caller>
  /** Waits for the result, however long it takes. */
  readonly result: (id: string) => Effect.Effect<Result, HttpRefusal, Caller>
  /** Waits for the result; none if it is not ready within the time that a poll is held. */
  readonly poll: (id: string) => Effect.Effect<Option.Option<Result>, HttpRefusal, Caller>
  /** Requests of a target that finished after `cursor`. Waits up to `timeout`, or as long as a poll is held. */
  readonly finishedAfter: (
    target: string,
    cursor: number,
    timeout: Duration.Input | undefined
  ) => Effect.Effect<Completions.Page>
  /** Stops the work, whose result is then a cancellation. A finished request is not changed. */
  readonly cancel: (id: string) => Effect.Effect<void, HttpRefusal, Caller>
  /** Forgets a result that its client has received. */
  readonly forget: (id: string) => Effect.Effect<void, never, Caller>
  /** Forgets those results of a session that its client has received. */
  readonly sessionFinished: (session: string) => Effect.Effect<void>
  /** The number of requests in progress. */
  readonly unfinished: Effect.Effect<number>
  /** Fails, asking the client to slow down, if too many requests are in progress. */
  readonly hasRoom: Effect.Effect<void, HttpRefusal>
  /** Accepts no more requests, waits until all accepted ones are finished, and ends polls. */
  readonly stop: Effect.Effect<void>
}

interface Entry {
  readonly done: Deferred.Deferred<Answer.Answer, TinkerError.TinkerError>
  readonly key: string | undefined
  readonly target: string | undefined
  readonly tenant: string | undefined
  readonly session: string | undefined
  fiber: Fiber.Fiber<unknown, unknown> | undefined
  /** Tokens that count for the request or, once it is finished, for its result. */
  tokens: number
  /** When it finished or, later, when its result was last requested; undefined while in progress. */
  finishedAt: number | undefined
  wasDelivered: boolean
}

/** How long a poll is held. The Python SDK waits 45 s for an answer. */
const pollHeld = "30 seconds"

/** How long a result is kept in milliseconds. Clients may retry up to 75 s after a lost answer. */
const keptMillis = 10 * 60_000

/** How long a delivered result is kept at least when memory is short; clients have retried a lost answer by then. */
const keptUnderPressureMillis = 90_000

/** Maximum number of tokens that all requests and results hold: 512 MiB at about 16 bytes per token. */
export const mostTokens = 2 ** 25

/** Maximum number of tokens that the requests and results of one tenant hold. */
export const mostTokensOfTenant = mostTokens / 2

/** Number of requests in progress above which sampling clients are asked to slow down. */
const mostUnfinished = 20_000

const cancelled = new TinkerError.TinkerError({
  operation: "server",
  reason: new TinkerError.Closed({ detail: "the request was cancelled" })
})

const stopping = new HttpRefusal({
  status: 503,
  detail: "this server is stopping and accepts nothing more",
  headers: { "retry-after": "10" }
})

/** Creates the store. `prefix` distinguishes this server's ids from those of an earlier server process. */
export const make = Effect.fnUntraced(function*(prefix: string) {
  const serverScope = yield* Effect.scope
  const entries = new Map<string, Entry>()
  const seen = new Map<string, { readonly id: string; readonly content: string }>()
  const completions = Completions.make()
  const heldBy = new Map<string | undefined, number>()
  const stopped = yield* Deferred.make<void>()
  let held = 0
  let count = 0
  let unfinished = 0
  let isStopping = false

  const hold = (tenant: string | undefined, tokens: number) => {
    held += tokens
    const now = (heldBy.get(tenant) ?? 0) + tokens
    if (now === 0) heldBy.delete(tenant)
    else heldBy.set(tenant, now)
  }

  const drop = (id: string, { key, target, tenant, tokens }: Entry) => {
    entries.delete(id)
    if (target !== undefined) completions.forgotten(target, id)
    if (key !== undefined) seen.delete(key)
    hold(tenant, -tokens)
  }

  const forgetOld = Effect.map(Clock.currentTimeMillis, (now) => {
    for (const [id, entry] of entries) {
      if (entry.finishedAt !== undefined && now - entry.finishedAt >= keptMillis) drop(id, entry)
    }
  })

  const fits = (tenant: string | undefined, tokens: number) =>
    held + tokens <= mostTokens && (heldBy.get(tenant) ?? 0) + tokens <= mostTokensOfTenant

  /** Drops delivered results, oldest request first, until `tokens` more fit. */
  const makeRoom = (tenant: string | undefined, tokens: number, now: number) => {
    for (const [id, entry] of entries) {
      if (fits(tenant, tokens)) return
      const { finishedAt = now, wasDelivered } = entry
      if (wasDelivered && now - finishedAt >= keptUnderPressureMillis) drop(id, entry)
    }
  }

  const admit = Effect.fnUntraced(function*(tenant: string | undefined, tokens: number) {
    if (isStopping) return yield* stopping
    if (fits(tenant, tokens)) return
    makeRoom(tenant, tokens, yield* Clock.currentTimeMillis)
    if (!fits(tenant, tokens)) {
      return yield* tooMany(`requests of ${heldBy.get(tenant) ?? 0} tokens are waiting or kept: try again later`, 5)
    }
  })

  const finish = Effect.fnUntraced(function*(id: string, entry: Entry, exit: Result) {
    const result: Result = Exit.hasInterrupts(exit) ? Exit.fail(cancelled) : exit
    const size = Exit.isSuccess(result) ? Answer.size(result.value) : 0
    hold(entry.tenant, size - entry.tokens)
    entry.tokens = size
    entry.fiber = undefined
    entry.finishedAt = yield* Clock.currentTimeMillis
    unfinished--
    if (entry.target !== undefined) {
      yield* completions.finished(entry.target, id, Exit.isSuccess(result) ? "finished" : "failed")
    }
    yield* Deferred.done(entry.done, result)
  })

  const start = Effect.fnUntraced(function*(id: string, entry: Entry, work: Work, scope: Scope.Scope) {
    entry.fiber = yield* work.pipe(
      Effect.onExit((exit) => finish(id, entry, exit)),
      Effect.tapCause((cause) => Cause.hasDies(cause) ? Effect.logError(`request ${id} failed`, cause) : Effect.void),
      Effect.exit,
      Effect.forkIn(scope, { startImmediately: true })
    )
    if (entry.finishedAt !== undefined) entry.fiber = undefined
  })

  const begin: Futures["begin"] = Effect.fnUntraced(function*(order) {
    const { once, scope = serverScope, session, target, tokens = 0, work } = order
    const { tenant } = yield* Caller
    const before = once === undefined ? undefined : seen.get(once.key)
    if (before !== undefined) {
      if (before.content === once?.content) return before.id
      const detail = `${once?.key} was already used for another request: use a new sequence number for new content`
      return yield* new HttpRefusal({ status: 409, detail })
    }
    yield* admit(tenant, tokens)
    const id = `${prefix}-${++count}`
    if (once !== undefined) seen.set(once.key, { id, content: once.content })
    const entry: Entry = {
      done: yield* Deferred.make<Answer.Answer, TinkerError.TinkerError>(),
      key: once?.key,
      target,
      tenant,
      session,
      fiber: undefined,
      tokens,
      finishedAt: undefined,
      wasDelivered: false
    }
    entries.set(id, entry)
    hold(tenant, tokens)
    unfinished++
    yield* start(id, entry, work, scope)
    return id
  })

  const wasOurs = (id: string) => {
    const number = id.startsWith(`${prefix}-`) ? Number(id.slice(prefix.length + 1)) : NaN
    return Number.isSafeInteger(number) && number > 0 && number <= count
  }

  /** Marks a result as delivered and restarts its retention, because the answer may be lost in transit. */
  const deliver = (entry: Entry) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      if (entry.finishedAt === undefined) return
      entry.finishedAt = now
      entry.wasDelivered = true
    })

  const find = Effect.fnUntraced(function*(id: string) {
    const { tenant } = yield* Caller
    const entry = entries.get(id)
    if (entry !== undefined) return entry.tenant === tenant ? entry : yield* notFound("request", id)
    const detail = `the result of request "${id}" is no longer kept: send the request again under a new sequence number`
    return yield* wasOurs(id) ? new HttpRefusal({ status: 410, detail }) : notFound("request", id)
  })

  const result: Futures["result"] = Effect.fnUntraced(function*(id) {
    const entry = yield* find(id)
    return yield* Effect.ensuring(Effect.exit(Deferred.await(entry.done)), deliver(entry))
  })

  const poll: Futures["poll"] = Effect.fnUntraced(function*(id) {
    const { done } = yield* find(id)
    const isOver = Effect.raceFirst(Effect.exit(Deferred.await(done)), Deferred.await(stopped))
    yield* Effect.timeoutOption(isOver, pollHeld)
    return (yield* Deferred.isDone(done)) ? Option.some(yield* result(id)) : Option.none()
  })

  const open = () => [...entries.values()].filter(({ finishedAt }) => finishedAt === undefined)

  yield* forgetOld.pipe(Effect.repeat(Schedule.spaced("1 minute")), Effect.forkScoped)

  return {
    begin,
    result,
    poll,
    finishedAfter: (target, cursor, timeout) => {
      const patience = Duration.min(Duration.fromInputUnsafe(timeout ?? pollHeld), Duration.fromInputUnsafe(pollHeld))
      return completions.after(target, cursor, Effect.raceFirst(Effect.sleep(patience), Deferred.await(stopped)))
    },
    cancel: (id) => Effect.flatMap(find(id), ({ fiber }) => fiber === undefined ? Effect.void : Fiber.interrupt(fiber)),
    forget: (id) =>
      Effect.map(Effect.option(find(id)), (found) => {
        if (Option.isSome(found) && found.value.finishedAt !== undefined) drop(id, found.value)
      }),
    sessionFinished: (session) =>
      Effect.sync(() => {
        for (const [id, entry] of entries) if (entry.session === session && entry.wasDelivered) drop(id, entry)
      }),
    unfinished: Effect.sync(() => unfinished),
    hasRoom: Effect.suspend(() =>
      unfinished < mostUnfinished
        ? Effect.void
        : Effect.fail(tooMany(`${unfinished} requests are waiting: try again later`, 1))
    ),
    stop: Effect.suspend(() => {
      isStopping = true
      return Effect.forEach(open(), ({ done }) => Effect.exit(Deferred.await(done)), { discard: true })
    }).pipe(Effect.ensuring(Deferred.succeed(stopped, undefined)))
  } satisfies Futures
})
