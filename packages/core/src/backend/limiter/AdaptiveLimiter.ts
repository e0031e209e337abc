/**
 * An adaptive limit on concurrent sampling requests, shared by rollouts, evaluations and judges. Without `AdaptiveLimiter.layer`, requests
 * are not limited.
 *
 * @example
 * const limited = yield* AdaptiveLimiter.limit(client, "judge")
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import type * as Sampling from "../../model/Sampling.ts"
import type { SamplingClient } from "../SamplingClient.ts"
import { Closed, TinkerError } from "../TinkerError.ts"
import * as PermitQueue from "./PermitQueue.ts"
import * as RequestAdmission from "./RequestAdmission.ts"

export type { Lane } from "./PermitQueue.ts"
export type { State } from "./RequestAdmission.ts"

/** The limiter's metrics. `waiting` has one value per lane, with the attribute `lane`. */
export const metrics = {
  permits: Metric.gauge("effect_rl_sampling_permits"),
  inUse: Metric.gauge("effect_rl_sampling_in_use"),
  waiting: Metric.gauge("effect_rl_sampling_waiting"),
  rateLimited: Metric.counter("effect_rl_sampling_rate_limited", { incremental: true })
}

/** A limit on concurrent requests that follows the backend's load. */
export interface AdaptiveLimiter {
  /** Wraps a client so that its requests wait for permits in the given lane. */
  readonly sampling: (client: SamplingClient, lane: PermitQueue.Lane) => SamplingClient
  readonly state: Effect.Effect<RequestAdmission.State>
  /** The current state, then each state in which the number of permits or the circuit breaker has changed. */
  readonly changes: Stream.Stream<RequestAdmission.State>
}

/** The limiter of all sampling. If it is undefined, every request is sent at once. */
export const AdaptiveLimiter = Context.Reference<AdaptiveLimiter | undefined>(
  "@effect-rl/core/backend/limiter/AdaptiveLimiter",
  { defaultValue: () => undefined }
)

/** Wraps the client with the limiter in the context; returns the client itself if there is none. */
export const limit = (client: SamplingClient, lane: PermitQueue.Lane): Effect.Effect<SamplingClient> =>
  Effect.map(AdaptiveLimiter, (limiter) => limiter === undefined ? client : limiter.sampling(client, lane))

/** Maximum number of times that a request is sent again after the backend rejected it. */
const mostRejections = 10

/** A request as the limiter sees it: its lane, one permit per sequence, the request itself, and how to count an answer's tokens. */
interface Call<A> {
  readonly lane: PermitQueue.Lane
  readonly permits: number
  readonly send: Effect.Effect<A, TinkerError>
  readonly tokens: (value: A) => number
}

const longest = ({ sequences }: Sampling.SampleResponse) =>
  sequences.reduce((most, { tokens }) => Math.max(most, tokens.length), 0)

const endingOf = <A>({ tokens }: Call<A>, exit: Exit.Exit<A, TinkerError>): RequestAdmission.Ending => {
  if (Exit.isSuccess(exit)) return { _tag: "Answered", tokens: tokens(exit.value) }
  const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  switch (error?.reason._tag) {
    case undefined:
      return { _tag: "Unanswered" }
    case "RateLimited":
      return { _tag: "TurnedAway", retryAfterMillis: error.reason.retryAfterMillis }
    case "Unavailable":
      return { _tag: "Unavailable", error }
    default:
      return { _tag: "Failed" }
  }
}

const measure = ({ inUse, permits, waiting }: RequestAdmission.State) =>
  Effect.all([
    Metric.update(metrics.permits, permits),
    Metric.update(metrics.inUse, inUse),
    ...PermitQueue.lanes.map((lane) => Metric.update(Metric.withAttributes(metrics.waiting, { lane }), waiting[lane]))
  ], { discard: true })

const closed = new TinkerError({
  operation: "sample",
  reason: new Closed({ detail: "the scope of the limiter closed" })
})

/**
 * Waits until the request is admitted. A request that had to wait then yields once, because the fiber that admitted it must run on before
 * it can admit the next one.
 */
const turn = ({ admitted }: PermitQueue.Waiter) =>
  Effect.suspend(() => {
    const through = Deferred.await(admitted)
    return Deferred.isDoneUnsafe(admitted) ? through : Effect.andThen(through, Effect.yieldNow)
  })

/**
 * Creates a limiter that works until the scope closes. Each sequence being sampled takes one permit. The number of permits follows the
 * backend: it grows while requests wait, and shrinks if the backend answers `RateLimited` or becomes slower without more throughput. A
 * rejected request is sent again at the time that the backend gave, at most ten times; after two rejections in a row, all requests wait
 * until then. After five requests in a row failed as `Unavailable`, all requests wait, and after a pause a single one probes whether the
 * backend is up; if the probe fails, all waiting requests fail too.
 */
export const make: Effect.Effect<AdaptiveLimiter, never, Scope.Scope> = Effect.gen(function*() {
  const scope = yield* Effect.scope
  const admission = RequestAdmission.make()
  const states = yield* SubscriptionRef.make(admission.state())
  let isClosed = false

  const wakeAfter = (millis: number) =>
    Effect.sleep(millis).pipe(
      Effect.andThen(Clock.currentTimeMillis),
      Effect.map(admission.wake),
      Effect.forkIn(scope)
    )

  const publish = (state: RequestAdmission.State) => {
    const last = SubscriptionRef.getUnsafe(states)
    const isNew = last.permits !== state.permits || last.breaker !== state.breaker
    return isNew ? SubscriptionRef.set(states, state) : Effect.void
  }

  const settle = Effect.fnUntraced(function*(waiter: PermitQueue.Waiter, ending: RequestAdmission.Ending) {
    const pause = admission.settle(waiter, ending, yield* Clock.currentTimeMillis)
    if (pause !== undefined) yield* wakeAfter(pause)
    if (ending._tag === "TurnedAway") yield* Metric.update(metrics.rateLimited, 1)
    const state = admission.state()
    yield* measure(state)
    yield* publish(state)
  })

  const once = <A>(call: Call<A>, isAgain: boolean) =>
    Effect.uninterruptibleMask((restore) => {
      const waiter = PermitQueue.waiter(call.lane, call.permits)
      const enter = Effect.flatMap(Clock.currentTimeMillis, (now) =>
        isClosed ? Effect.fail(closed) : Effect.succeed(admission.enter(waiter, isAgain, now)))
      return enter.pipe(
        Effect.andThen(restore(Effect.andThen(turn(waiter), call.send))),
        Effect.onExit((exit) =>
          admission.leave(waiter) ? Effect.void : settle(waiter, endingOf(call, exit))
        )
      )
    })

  const limited = <A>(call: Call<A>, rejections = 0): Effect.Effect<A, TinkerError> =>
    Effect.catch(
      once(call, rejections > 0),
      (error) =>
        error.reason._tag === "RateLimited" && rejections < mostRejections
          ? Effect.delay(Effect.suspend(() => limited(call, rejections + 1)), error.reason.retryAfterMillis)
          : Effect.fail(error)
    )

  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      isClosed = true
      admission.close(closed)
    })
  )

  return {
    sampling: (client, lane) => ({
      ...client,
      sample: (request) =>
        limited({ lane, permits: request.numSamples ?? 1, send: client.sample(request), tokens: longest }),
      computeLogprobs: (prompt) => limited({ lane, permits: 1, send: client.computeLogprobs(prompt), tokens: () => 0 })
    }),
    state: Effect.sync(admission.state),
    changes: SubscriptionRef.changes(states)
  }
})

/** Provides a limiter for all sampling requests. */
export const layer: Layer.Layer<never> = Layer.effect(AdaptiveLimiter, make)
