/** Decides which waiting requests may be sent, how many may be in flight, and whether the backend is up. Callers pass the current time. */
import * as Deferred from "effect/Deferred"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { TinkerError } from "../TinkerError.ts"
import * as CircuitBreaker from "./CircuitBreaker.ts"
import * as Congestion from "./Congestion.ts"
import * as PermitQueue from "./PermitQueue.ts"

/** How a request ended. An error that the backend itself returned counts as an answer, because the backend is up. */
export type Ending =
  | { readonly _tag: "Answered"; readonly tokens: number }
  | { readonly _tag: "TurnedAway"; readonly retryAfterMillis: number }
  | { readonly _tag: "Failed" }
  | { readonly _tag: "Unavailable"; readonly error: TinkerError }
  | { readonly _tag: "Unanswered" }

export interface State {
  /** The number of sequences that may be sampled at the same time. */
  readonly permits: number
  readonly inUse: number
  /** The number of waiting requests per lane. */
  readonly waiting: Readonly<Record<PermitQueue.Lane, number>>
  /** When the backend last answered that there were too many requests, in clock milliseconds. */
  readonly lastRateLimited: Option.Option<number>
  readonly breaker: CircuitBreaker.Phase
}

export interface RequestAdmission {
  readonly enter: (waiter: PermitQueue.Waiter, isAgain: boolean, now: number) => void
  /** Removes a waiting request; false if it was no longer waiting. */
  readonly leave: (waiter: PermitQueue.Waiter) => boolean
  /**
   * Returns the permits of a finished request. The result is the number of milliseconds after which the caller must call `wake`, or
   * undefined if no pause began.
   */
  readonly settle: (waiter: PermitQueue.Waiter, ending: Ending, now: number) => number | undefined
  readonly wake: (now: number) => void
  /** Fails all waiting requests. */
  readonly close: (error: TinkerError) => void
  readonly state: () => State
}

interface Sent extends Congestion.Sent {
  readonly isProbe: boolean
}

const startPermits = 8

const outcome = ({ _tag }: Ending): CircuitBreaker.Outcome =>
  _tag === "Unavailable" ? "unavailable" : _tag === "Unanswered" ? "unknown" : "answered"

export const make = (): RequestAdmission => {
  const queue = PermitQueue.make()
  const congestion = Congestion.make(startPermits)
  const breaker = CircuitBreaker.make()
  const sent = new Map<PermitQueue.Waiter, Sent>()
  let inUse = 0
  let isProbing = false
  let pausedUntil = 0
  let lastRateLimited = Option.none<number>()

  const mayAdmit = ({ permits }: PermitQueue.Waiter, now: number) =>
    breaker.phase() === "half-open"
      ? !isProbing
      : breaker.phase() === "closed" && now >= pausedUntil && (inUse === 0 || inUse + permits <= congestion.limit())

  const admit = (waiter: PermitQueue.Waiter, now: number) => {
    queue.take(waiter)
    inUse += waiter.permits
    const isProbe = breaker.phase() === "half-open"
    isProbing ||= isProbe
    const isLimited = inUse >= congestion.limit()
    sent.set(waiter, { at: now, load: inUse, epoch: congestion.epoch(), isLimited, isProbe })
    Deferred.doneUnsafe(waiter.admitted, Exit.void)
  }

  const dispatch = (now: number) => {
    for (let next = queue.next(); next !== undefined && mayAdmit(next, now); next = queue.next()) admit(next, now)
  }

  /** The first rejection delays only its own request. A second one in a row means that there are too many requests, and delays all. */
  const turnedAway = (request: Sent, retryAfterMillis: number, now: number) => {
    lastRateLimited = Option.some(now)
    if (!congestion.rejected(request) || now + retryAfterMillis <= pausedUntil) return undefined
    pausedUntil = now + retryAfterMillis
    return retryAfterMillis
  }

  const learn = (waiter: PermitQueue.Waiter, request: Sent, ending: Ending, now: number) => {
    switch (ending._tag) {
      case "Answered":
        return congestion.answered(request, waiter.permits, now - request.at, ending.tokens)
      case "TurnedAway":
        return turnedAway(request, ending.retryAfterMillis, now)
      case "Unavailable":
        return request.isProbe ? queue.refuse(ending.error) : undefined
      default:
        return undefined
    }
  }

  return {
    enter: (waiter, isAgain, now) => {
      if (isAgain) queue.addAgain(waiter)
      else queue.add(waiter)
      dispatch(now)
    },
    leave: queue.remove,
    settle: (waiter, ending, now) => {
      const request = sent.get(waiter)
      if (request === undefined) return undefined
      sent.delete(waiter)
      inUse -= waiter.permits
      if (request.isProbe) isProbing = false
      const pause = learn(waiter, request, ending, now)
      const isOpened = breaker.settle(outcome(ending), request.isProbe, now)
      dispatch(now)
      return isOpened ? breaker.pauseMillis() : pause ?? undefined
    },
    wake: (now) => {
      breaker.wake(now)
      dispatch(now)
    },
    close: queue.refuse,
    state: () => ({
      permits: congestion.limit(),
      inUse,
      waiting: queue.waiting(),
      lastRateLimited,
      breaker: breaker.phase()
    })
  }
}
