/** Learns which samples of a sampler are finished from one poll for all of them. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Latch from "effect/Latch"
import * as Option from "effect/Option"
import * as Wire from "../wire/Future.ts"
import * as Answer from "./Answer.ts"
import * as ClientConfig from "./ClientConfig.ts"
import * as Connection from "./Connection.ts"
import * as Polling from "./Polling.ts"
import * as RetryPolicy from "./RetryPolicy.ts"
import type * as WireError from "./WireError.ts"

/** Requests a result; `size` is its size in bytes, if known. */
type Ask<A> = (size?: number) => Effect.Effect<A, WireError.WireError>

export interface Completions {
  /** The result of a request, fetched once the service reports that the request is finished. */
  readonly result: <A>(requestId: string, ask: Ask<A>) => Effect.Effect<A, WireError.WireError>
}

/** Whether the service lists finished requests. `announced` means its configuration says so, but no poll has been answered yet. */
export interface Support {
  state: "announced" | "confirmed" | "absent"
}

export const support = (isAnnounced: boolean): Support => ({ state: isAnnounced ? "announced" : "absent" })

/** One client of a sampler. */
export interface Target {
  readonly samplerId: string
  /** The block of request numbers that this client uses. */
  readonly block: number
}

/** The poll's report that a request's result can be fetched. */
interface Report {
  readonly size: number | undefined
}

/** A request that is waiting, or is fetching its result. */
interface Waiter {
  readonly id: string
  report: (report: Report) => void
  isReported: boolean
}

/** How many reports to keep for requests without a waiter, because they were cancelled or their promise has not arrived yet. */
const most = 20_000

/** Whether the service has delivered the request's outcome and can forget it. */
const isDelivered = (exit: Exit.Exit<unknown, WireError.WireError>) =>
  Exit.isSuccess(exit) ||
  Option.exists(Exit.findErrorOption(exit), ({ reason }) => reason._tag === "RequestFailed")

const readPage = Answer.reading(Wire.RetrieveManyResponse)

/**
 * Polls until the scope closes. The poll only says when to fetch; each result is fetched as usual, with retries and errors. While the poll
 * brings nothing new or fails, the oldest waiting request fetches its result directly, one request at a time, so results that the service
 * fails to list are still found. Without the poll, every request fetches its own result.
 */
export const make = Effect.fnUntraced(function*(connection: Connection.Connection, target: Target, support: Support) {
  const work = Latch.makeUnsafe()
  /** The requests that wait for a report, the oldest first. */
  const waiters = new Map<string, Waiter>()
  const early = new Map<string, Report>()
  /** Delivered results, which the service may forget. */
  let delivered: Array<string> = []
  let cursor = 0
  /** The waiter that fetches its result without a report from the poll. */
  let probe: Waiter | undefined
  let isOver = false

  const probeOldest = () => {
    if (probe !== undefined) return
    for (const waiter of waiters.values()) {
      probe = waiter
      waiters.delete(waiter.id)
      return waiter.report({ size: undefined })
    }
  }

  const end = () => {
    isOver = true
    early.clear()
    for (const waiter of waiters.values()) waiter.report({ size: undefined })
    waiters.clear()
  }

  /** Records a report. Returns whether it is new. */
  const take = (id: string, report: Report) => {
    if (probe?.id === id) {
      probe.isReported = true
      return true
    }
    const waiter = waiters.get(id)
    if (waiter === undefined && early.has(id)) return false
    if (waiter === undefined) {
      early.set(id, report)
      for (const oldest of early.keys()) {
        if (early.size <= most) break
        early.delete(oldest)
      }
      return true
    }
    waiters.delete(id)
    waiter.report(report)
    return true
  }

  const request = (retrieved_request_ids: ReadonlyArray<string>) => {
    const { block, samplerId } = target
    const body: typeof Wire.RetrieveManyRequest.Type = {
      target: { type: "sampling_session", sampling_session_id: samplerId, cloned_sampler_id: block },
      prev_cursor: cursor,
      retrieved_request_ids
    }
    return Connection.post("/retrieve_futures", body)
  }

  const nothing: typeof Wire.RetrieveManyResponse.Type = { completions: [], cursor: 0 }

  const ask = Effect.suspend(() => {
    const told = delivered.length
    return connection.attempt(request(delivered.slice(0, told)), Polling.hold).pipe(
      Effect.flatMap(readPage),
      Effect.tap((page) =>
        Effect.sync(() => {
          support.state = "confirmed"
          delivered = delivered.slice(told)
          cursor = page.cursor
        })
      ),
      Effect.catchIf(({ reason }) => reason._tag === "NoAnswer", () => Effect.succeed(nothing)),
      Polling.throughNoise,
      Effect.tapError(() => Effect.sync(probeOldest))
    )
  })

  const page = connection.retry(RetryPolicy.polling, "finished samples", ask)

  const turn = Effect.gen(function*() {
    if (waiters.size === 0) work.closeUnsafe()
    yield* work.await
    const started = yield* Clock.currentTimeMillis
    const { completions } = yield* page
    const news = completions.filter((one) =>
      take(one.request_id, { size: one.response_payload_uncompressed_size ?? undefined })
    )
    if (news.length > 0) return
    probeOldest()
    yield* Polling.rest(started)
  })

  /** Disables polling for all samplers if the service lacks the endpoint although its configuration announced it. */
  const giveUp = (error: WireError.WireError) => {
    if (support.state === "announced" && ClientConfig.isAbsent(error)) support.state = "absent"
    return Effect.logDebug(`samples of ${target.samplerId} are polled one by one: ${error.message}`)
  }

  const reported = (waiter: Waiter) =>
    Effect.suspend(() => {
      const report = isOver || support.state === "absent" ? { size: undefined } : early.get(waiter.id)
      if (report !== undefined) return Effect.succeed(report)
      return Effect.callback<Report>((resume) => {
        waiter.report = (report) => resume(Effect.succeed(report))
        waiters.set(waiter.id, waiter)
        work.openUnsafe()
      })
    })

  const leave = (waiter: Waiter, exit: Exit.Exit<unknown, WireError.WireError>) => {
    waiters.delete(waiter.id)
    early.delete(waiter.id)
    if (isDelivered(exit) && !isOver) delivered.push(waiter.id)
    if (probe !== waiter) return
    probe = undefined
    if (!waiter.isReported) probeOldest()
  }

  const result: Completions["result"] = (id, ask) =>
    Effect.suspend(() => {
      const waiter: Waiter = { id, report: () => {}, isReported: false }
      return Effect.flatMap(reported(waiter), ({ size }) => ask(size)).pipe(
        Effect.onExit((exit) => Effect.sync(() => leave(waiter, exit)))
      )
    })

  if (support.state !== "absent") {
    yield* Effect.forever(turn).pipe(Effect.catch(giveUp), Effect.ensuring(Effect.sync(end)), Effect.forkScoped)
  }
  const completions: Completions = { result }
  return completions
})
