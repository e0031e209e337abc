/** Events and metrics for a client's requests. */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as PubSub from "effect/PubSub"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

export type Pool = "connections" | "samples" | "dispatch" | "sample_bytes" | "pass_bytes" | "response_bytes"

const pools: ReadonlyArray<Pool> = [
  "connections",
  "samples",
  "dispatch",
  "sample_bytes",
  "pass_bytes",
  "response_bytes"
]

export type Event = Data.TaggedEnum<{
  /** A result is not ready. `state` is the state that the service reports: `active`, `paused_capacity` or `paused_rate_limit`. */
  QueueState: { readonly operation: string; readonly state: string; readonly reason: string | undefined }
  /** A request failed and will be retried; `error` is the tag of its `WireError` reason. */
  Retried: {
    readonly request: string
    readonly attempt: number
    readonly delayMillis: number
    readonly error: string
    readonly detail: string
  }
  /** The client sends no sampling requests for `millis` milliseconds. */
  Paused: { readonly because: "rate_limit" | "billing"; readonly millis: number }
  Permits: { readonly pool: Pool; readonly inUse: number; readonly size: number; readonly waiting: number }
  /** A heartbeat failed, so the service may end the session. `silentMillis` is the time since the last success. */
  HeartbeatFailed: { readonly detail: string; readonly silentMillis: number }
  TokenRefreshed: { readonly expiresAtMillis: number }
  TokenRefreshFailed: { readonly detail: string }
}>
export const Event = Data.taggedEnum<Event>()

/** Reports an event without blocking. A listener that falls more than 4096 events behind misses the oldest ones. */
export type Observe = (event: Event) => void

/**
 * The events and metrics of a `TinkerHttp` client. Provided by its layers.
 *
 * @example
 * const pauses = Effect.gen(function*() {
 *   const { events } = yield* Activity.Activity
 *   yield* events.pipe(Stream.filter(Activity.Event.$is("Paused")), Stream.runForEach(({ millis }) => Console.log(millis)))
 * })
 *
 * @see tinker `SamplingClient.on_queue_state_change`
 */
export class Activity extends Context.Service<Activity, {
  readonly events: Stream.Stream<Event>
  readonly observe: Observe
}>()("@effect-rl/tinker/client/Activity") {
  /** Creates the service. The event stream ends when the scope closes. */
  static readonly make: Effect.Effect<Activity["Service"], never, Scope.Scope> = Effect.suspend(() => make)
}

const retries = Metric.counter("tinker_client_retries", {
  description: "Requests sent again, by the reason of the failure",
  incremental: true
})
const pauses = Metric.counter("tinker_client_pauses", {
  description: "Pauses of sampling that the service asked for, by reason",
  incremental: true
})
const queueStates = Metric.counter("tinker_client_queue_states", {
  description: "Answers of \"not yet\", by the state of the service's queue",
  incremental: true
})
/** Created once per pool, because creating a metric computes its key, and permits change hands several times per request. */
const byPool = (id: string, description: string) =>
  new Map(pools.map((pool) => [pool, Metric.gauge(id, { description, attributes: { pool } })]))

const permits = byPool("tinker_client_permits_in_use", "Permits in use, by pool")
const waiting = byPool("tinker_client_permits_waiting", "Requests that wait for permits, by pool")
const heartbeats = Metric.counter("tinker_client_heartbeats_failed", { incremental: true })

const measure = (event: Event, context: Context.Context<never>) => {
  switch (event._tag) {
    case "Retried":
      return Metric.withAttributes(retries, { error: event.error }).updateUnsafe(1, context)
    case "Paused":
      return Metric.withAttributes(pauses, { because: event.because }).updateUnsafe(1, context)
    case "QueueState":
      return Metric.withAttributes(queueStates, { state: event.state }).updateUnsafe(1, context)
    case "Permits":
      permits.get(event.pool)?.updateUnsafe(event.inUse, context)
      return waiting.get(event.pool)?.updateUnsafe(event.waiting, context)
    case "HeartbeatFailed":
      return heartbeats.updateUnsafe(1, context)
  }
}

const remembered = 4096

const make = Effect.gen(function*() {
  const context = yield* Effect.context<never>()
  const events = yield* Effect.acquireRelease(PubSub.sliding<Event>(remembered), PubSub.shutdown)
  return Activity.of({
    events: Stream.fromPubSub(events),
    observe: (event) => {
      measure(event, context)
      PubSub.publishUnsafe(events, event)
    }
  })
})
