/** Requests that were accepted, and their results for as long as somebody may ask for them again. */
import type { TinkerError } from "@effect-rl/core"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type { Answer } from "./Answer.ts"
import { notFound, Refusal } from "./Refusal.ts"

export interface Futures {
  /**
   * Begins `work` and returns its id at once. The same `key` again is the same request: it returns the first id, or fails
   * where its `content` is another.
   */
  readonly begin: (
    work: Effect.Effect<Answer, TinkerError.TinkerError>,
    once?: { readonly key: string; readonly content: string }
  ) => Effect.Effect<string, Refusal>
  /** The result, once there is one, however long it takes. */
  readonly result: (id: string) => Effect.Effect<Exit.Exit<Answer, TinkerError.TinkerError>, Refusal>
  /** The result, once there is one; none where it takes longer than a poll is held. */
  readonly poll: (id: string) => Effect.Effect<Option.Option<Exit.Exit<Answer, TinkerError.TinkerError>>, Refusal>
  /** Requests that are not finished. */
  readonly unfinished: Effect.Effect<number>
  /** Returns when everything accepted so far is finished. */
  readonly settled: Effect.Effect<void>
}

interface Entry {
  readonly done: Deferred.Deferred<Answer, TinkerError.TinkerError>
  readonly key: string | undefined
  /** When it was finished or, later, last asked for; none while it is under way. */
  finishedAt: number | undefined
}

/** Below the 45 s that the Python SDK waits for an answer. */
const pollHeld = "30 seconds"

/** A lost answer is asked for again after up to 75 s. */
const keptMillis = 10 * 60_000

/** `prefix` tells this server's ids from those of one that ran here before. */
export const make = Effect.fnUntraced(function*(prefix: string) {
  const scope = yield* Effect.scope
  const entries = new Map<string, Entry>()
  const seen = new Map<string, { readonly id: string; readonly content: string }>()
  let count = 0
  let unfinished = 0

  const forgetFinished = Effect.map(Clock.currentTimeMillis, (now) => {
    for (const [id, { finishedAt, key }] of entries) {
      if (finishedAt === undefined || now - finishedAt < keptMillis) continue
      entries.delete(id)
      if (key !== undefined) seen.delete(key)
    }
  })

  const start = Effect.fnUntraced(function*(
    work: Effect.Effect<Answer, TinkerError.TinkerError>,
    id: string,
    key: string | undefined
  ) {
    const entry: Entry = { done: yield* Deferred.make<Answer, TinkerError.TinkerError>(), key, finishedAt: undefined }
    entries.set(id, entry)
    unfinished++
    yield* work.pipe(
      Effect.onExit((exit) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          entry.finishedAt = now
          unfinished--
          return Deferred.done(entry.done, exit)
        })
      ),
      Effect.tapCause((cause) => Cause.hasDies(cause) ? Effect.logError(`request ${id} failed`, cause) : Effect.void),
      Effect.exit,
      Effect.forkIn(scope, { startImmediately: true })
    )
  })

  const begin: Futures["begin"] = (work, once) =>
    Effect.suspend(() => {
      const before = once === undefined ? undefined : seen.get(once.key)
      if (before !== undefined) {
        if (before.content === once?.content) return Effect.succeed(before.id)
        const detail = `${once?.key} was already used for another request: use a new sequence number for new content`
        return Effect.fail(new Refusal({ status: 409, detail }))
      }
      const id = `${prefix}-${++count}`
      if (once !== undefined) seen.set(once.key, { id, content: once.content })
      return Effect.as(start(work, id, once?.key), id)
    })

  const wasOurs = (id: string) => {
    const number = id.startsWith(`${prefix}-`) ? Number(id.slice(prefix.length + 1)) : NaN
    return Number.isSafeInteger(number) && number > 0 && number <= count
  }

  /** An answer may be lost on its way: from now on it is kept anew. */
  const keep = (entry: Entry) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      if (entry.finishedAt !== undefined) entry.finishedAt = now
    })

  const find = Effect.fnUntraced(function*(id: string) {
    const entry = entries.get(id)
    if (entry !== undefined) return entry
    const detail = `the result of request "${id}" is no longer kept: send the request again under a new sequence number`
    return yield* wasOurs(id) ? new Refusal({ status: 410, detail }) : notFound("request", id)
  })

  const result: Futures["result"] = Effect.fnUntraced(function*(id) {
    const entry = yield* find(id)
    return yield* Effect.ensuring(Effect.exit(Deferred.await(entry.done)), keep(entry))
  })

  const poll: Futures["poll"] = (id) => Effect.timeoutOption(result(id), pollHeld)

  const open = () => [...entries.values()].filter(({ finishedAt }) => finishedAt === undefined)

  yield* forgetFinished.pipe(Effect.repeat(Schedule.spaced("1 minute")), Effect.forkScoped)

  return {
    begin,
    result,
    poll,
    unfinished: Effect.sync(() => unfinished),
    settled: Effect.suspend(() =>
      Effect.forEach(open(), ({ done }) => Effect.exit(Deferred.await(done)), { discard: true })
    )
  } satisfies Futures
})
