/** As many requests at the same time as a backend takes, shared by everything that samples from it. */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import type * as Sampling from "../model/Sampling.ts"
import * as CircuitBreaker from "./CircuitBreaker.ts"
import * as Congestion from "./Congestion.ts"
import * as PermitQueue from "./PermitQueue.ts"
import type { SamplingClient } from "./SamplingClient.ts"
import { Closed, TinkerError } from "./TinkerError.ts"

export type { Lane } from "./PermitQueue.ts"

export interface State {
  /** Sequences that may be sampled at the same time. */
  readonly permits: number
  readonly inUse: number
  /** Requests that wait, per lane. */
  readonly waiting: Readonly<Record<PermitQueue.Lane, number>>
  /** When the backend last said that there were too many requests, in milliseconds of the clock. */
  readonly lastRateLimited: Option.Option<number>
  readonly breaker: CircuitBreaker.Phase
}

/** Names of the metrics a limiter keeps; `waiting` has an attribute `lane`. */
export const metrics = {
  permits: Metric.gauge("effect_rl_sampling_permits"),
  inUse: Metric.gauge("effect_rl_sampling_in_use"),
  waiting: Metric.gauge("effect_rl_sampling_waiting"),
  rateLimited: Metric.counter("effect_rl_sampling_rate_limited", { incremental: true })
}

export interface AdaptiveLimiter {
  /** The same client, whose requests wait for their turn. */
  readonly sampling: (client: SamplingClient, lane: PermitQueue.Lane) => SamplingClient
  readonly state: Effect.Effect<State>
  /** The state now, and whenever the number of permits or the breaker changes. */
  readonly changes: Stream.Stream<State>
}

const startPermits = 8
/** How often a request is sent again after the backend turned it away. */
const mostRejections = 10

const longest = ({ sequences }: Sampling.SampleResponse) =>
  sequences.reduce((most, { tokens }) => Math.max(most, tokens.length), 0)

const outcome = (exit: Exit.Exit<unknown, TinkerError>): CircuitBreaker.Outcome => {
  if (Exit.isSuccess(exit)) return "answered"
  const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  if (error === undefined) return "interrupted"
  return error.reason._tag === "Unavailable" ? "unavailable" : "answered"
}

const rateLimit = (exit: Exit.Exit<unknown, TinkerError>) => {
  const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
  return error?.reason._tag === "RateLimited" ? error.reason : undefined
}

/** A request that was let through. */
interface Admitted extends Congestion.Sent {
  readonly isProbe: boolean
}

/**
 * A permit is one sequence being sampled. The number of permits follows the backend: up while requests wait, down when it
 * answers `RateLimited` or becomes slower without doing more. A request that is turned away is sent again when the backend said;
 * where that happens twice in a row, all wait until then. After five requests in a row that met `Unavailable` nothing is sent
 * until one request finds the backend up; what waited for that one fails with it. Works until the scope closes.
 */
export const make: Effect.Effect<AdaptiveLimiter, never, Scope.Scope> = Effect.gen(function*() {
  const scope = yield* Effect.scope
  const queue = PermitQueue.make()
  const congestion = Congestion.make(startPermits)
  const breaker = CircuitBreaker.make()
  let inUse = 0
  let pausedUntil = 0
  let lastRateLimited = Option.none<number>()
  let isClosed = false
  const sent = new Map<PermitQueue.Waiter, Admitted>()

  const snapshot = (): State => ({
    permits: congestion.limit(),
    inUse,
    waiting: queue.waiting(),
    lastRateLimited,
    breaker: breaker.phase()
  })
  const states = yield* SubscriptionRef.make(snapshot())

  const fits = (waiter: PermitQueue.Waiter) => inUse === 0 || inUse + waiter.permits <= congestion.limit()

  const admit = (waiter: PermitQueue.Waiter, now: number) => {
    queue.take(waiter)
    inUse += waiter.permits
    sent.set(waiter, {
      at: now,
      load: inUse,
      epoch: congestion.epoch(),
      isLimited: inUse >= congestion.limit(),
      isProbe: breaker.phase() === "half-open"
    })
    Deferred.doneUnsafe(waiter.admitted, Exit.void)
  }

  const mayAdmit = (now: number) => {
    switch (breaker.phase()) {
      case "closed":
        return now >= pausedUntil
      case "open":
        return false
      case "half-open":
        return inUse === 0
    }
  }

  const dispatch = (now: number) => {
    for (let next = queue.next(); next !== undefined && mayAdmit(now) && fits(next); next = queue.next()) {
      admit(next, now)
    }
  }

  const wake = (millis: number, before: () => void) =>
    Effect.sleep(millis).pipe(
      Effect.andThen(Clock.currentTimeMillis),
      Effect.tap((now) =>
        Effect.sync(() => {
          before()
          dispatch(now)
        })
      ),
      Effect.forkIn(scope)
    )

  const publish = Effect.suspend(() => {
    const state = snapshot()
    const last = SubscriptionRef.getUnsafe(states)
    const isNew = last.permits !== state.permits || last.breaker !== state.breaker
    return isNew ? SubscriptionRef.set(states, state) : Effect.void
  })

  const measure = Effect.suspend(() => {
    const waiting = queue.waiting()
    return Effect.all([
      Metric.update(metrics.permits, congestion.limit()),
      Metric.update(metrics.inUse, inUse),
      Metric.update(Metric.withAttributes(metrics.waiting, { lane: "training" }), waiting.training),
      Metric.update(Metric.withAttributes(metrics.waiting, { lane: "evaluation" }), waiting.evaluation),
      Metric.update(Metric.withAttributes(metrics.waiting, { lane: "judge" }), waiting.judge)
    ], { discard: true })
  })

  const turnedAway = (admitted: Admitted, retryAfterMillis: number, now: number) =>
    Effect.suspend(() => {
      lastRateLimited = Option.some(now)
      const isRepeated = congestion.rejected(admitted)
      const counted = Metric.update(metrics.rateLimited, 1)
      if (!isRepeated || now + retryAfterMillis <= pausedUntil) return counted
      pausedUntil = now + retryAfterMillis
      return Effect.andThen(counted, wake(retryAfterMillis, () => {}))
    })

  const settle = <A>(waiter: PermitQueue.Waiter, exit: Exit.Exit<A, TinkerError>, tokens: (value: A) => number) =>
    Effect.gen(function*() {
      const admitted = sent.get(waiter)
      if (admitted === undefined) return
      sent.delete(waiter)
      inUse -= waiter.permits
      const now = yield* Clock.currentTimeMillis
      const limited = rateLimit(exit)
      if (limited !== undefined) yield* turnedAway(admitted, limited.retryAfterMillis, now)
      if (Exit.isSuccess(exit)) {
        congestion.answered(admitted, waiter.permits, now - admitted.at, tokens(exit.value))
      }
      if (breaker.settle(outcome(exit), admitted.isProbe)) {
        if (admitted.isProbe && Exit.isFailure(exit)) {
          Option.map(Cause.findErrorOption(exit.cause), (error) => queue.refuse(error))
        }
        yield* wake(breaker.pauseMillis(), breaker.halfOpen)
      }
      dispatch(now)
      yield* measure
      yield* publish
    })

  const closed = new TinkerError({
    operation: "sample",
    reason: new Closed({ detail: "the scope of the limiter closed" })
  })

  const enter = (waiter: PermitQueue.Waiter, rejections: number) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      if (isClosed) return Effect.fail(closed)
      if (rejections === 0) queue.add(waiter)
      else queue.addAgain(waiter)
      dispatch(now)
      return Effect.void
    })

  /** Yields, as the fiber that let it through goes on where this one starts, and may let through the next. */
  const turn = ({ admitted }: PermitQueue.Waiter) =>
    Effect.suspend(() =>
      Deferred.isDoneUnsafe(admitted)
        ? Deferred.await(admitted)
        : Effect.andThen(Deferred.await(admitted), Effect.yieldNow)
    )

  const once = <A>(
    lane: PermitQueue.Lane,
    permits: number,
    call: Effect.Effect<A, TinkerError>,
    tokens: (value: A) => number,
    rejections: number
  ) =>
    Effect.uninterruptibleMask((restore) => {
      const waiter = PermitQueue.waiter(lane, permits)
      return enter(waiter, rejections).pipe(
        Effect.andThen(restore(Effect.andThen(turn(waiter), call))),
        Effect.onExit((exit) => queue.remove(waiter) ? Effect.void : settle(waiter, exit, tokens))
      )
    })

  const limited = <A>(
    lane: PermitQueue.Lane,
    permits: number,
    call: Effect.Effect<A, TinkerError>,
    tokens: (value: A) => number,
    rejections = 0
  ): Effect.Effect<A, TinkerError> =>
    Effect.catch(
      once(lane, permits, call, tokens, rejections),
      (error) =>
        error.reason._tag === "RateLimited" && rejections < mostRejections
          ? Effect.delay(
            Effect.suspend(() => limited(lane, permits, call, tokens, rejections + 1)),
            error.reason.retryAfterMillis
          )
          : Effect.fail(error)
    )

  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      isClosed = true
      queue.refuse(closed)
    })
  )

  return {
    sampling: (client, lane) => ({
      ...client,
      sample: (request) => limited(lane, request.numSamples ?? 1, client.sample(request), longest),
      computeLogprobs: (prompt) => limited(lane, 1, client.computeLogprobs(prompt), () => 0)
    }),
    state: Effect.sync(snapshot),
    changes: SubscriptionRef.changes(states)
  }
})
