/** Faults of a single call, such as a failure or a delay. */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Reason } from "../backend/TinkerError.ts"
import type * as Sampling from "../model/Sampling.ts"
import type { Operation } from "./Call.ts"
import type { Draw } from "./Draw.ts"

/** A fault: wraps a call, for example to fail or delay it. */
export type Fault<A, E> = <R>(call: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** Leaves the call unchanged. */
export const none = <A, E, R>(call: Effect.Effect<A, E, R>) => call

/** Fails before the call begins. */
export const fail = <E>(error: E) => <A, R>(_call: Effect.Effect<A, unknown, R>): Effect.Effect<A, E, R> =>
  Effect.fail(error)

/** Runs the call, then fails: the call succeeds, but its answer is lost. */
export const failAfter = <E>(error: E) => <A, E2, R>(call: Effect.Effect<A, E2, R>): Effect.Effect<A, E | E2, R> =>
  Effect.andThen(call, Effect.fail(error))

/** Fails with a defect; the call does not begin. */
export const die = (defect: unknown) => <A, E, R>(_call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.die(defect)

/** Never ends, but can be interrupted; the call does not begin. */
export const hang = <A, E, R>(_call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => Effect.never

/** Delays the call by this time. */
export const slow = (duration: Duration.Input) => <A, E, R>(call: Effect.Effect<A, E, R>) =>
  Effect.delay(call, duration)

/** Changes the call's answer. */
export const answer = <A>(change: (answer: A) => A) => <E, R>(call: Effect.Effect<A, E, R>) => Effect.map(call, change)

/** Applies all of the faults; the first is innermost. */
export const all = <A, E>(...faults: ReadonlyArray<Fault<A, E>>): Fault<A, E> => (call) =>
  faults.reduce((before, fault) => fault(before), call)

/** One of the faults, drawn by weight when this function is called. */
export const oneOf = <A, E>(
  draw: Draw,
  choices: ReadonlyArray<readonly [weight: number, fault: Fault<A, E>]>
): Fault<A, E> => {
  let left = draw.uniform() * choices.reduce((sum, [weight]) => sum + weight, 0)
  return choices.find(([weight]) => (left -= weight) < 0)?.[1] ?? none
}

/** Cuts a sampled response in the middle, as the token limit would. */
export const truncated = answer<Sampling.SampledTokens>(({ logprobs, tokens }) => {
  const half = Math.ceil(tokens.length / 2)
  return { tokens: tokens.subarray(0, half), logprobs: logprobs.subarray(0, half), stopReason: "length" }
})

/** Replaces the log-probabilities of a sampled response with NaN. */
export const notNumbers = answer<Sampling.SampledTokens>((sampled) => ({
  ...sampled,
  logprobs: sampled.logprobs.map(() => NaN)
}))

/**
 * The fault for each request to a scripted backend; `call` is the number of earlier requests of the operation. For training requests, the
 * fault happens after the backend has accepted the request.
 */
export type Plan = (operation: Operation, call: number) => Fault<void, Reason>

/** Plans a fault for the call with index `call` (from 0) of an operation, and none for other calls. */
export const call = (operation: Operation, call: number, fault: Fault<void, Reason>): Plan => (found, count) =>
  found === operation && count === call ? fault : none

/** Plans a fault for every call of an operation, and none for other operations. */
export const every = (operation: Operation, fault: Fault<void, Reason>): Plan => (found) =>
  found === operation ? fault : none
