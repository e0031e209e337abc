/** Faults of a single call, such as a failure or a delay. */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Reason } from "../backend/TinkerError.ts"
import type * as Sampling from "../model/Sampling.ts"
import type { Operation } from "./Call.ts"
import type { Draw } from "./Draw.ts"

/** Turns a call into one with the fault. */
export type Fault<A, E> = <R>(call: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** No fault. */
export const none = <A, E, R>(call: Effect.Effect<A, E, R>) => call

/** The call fails before it begins. */
export const fail = <E>(error: E) => <A, R>(_call: Effect.Effect<A, unknown, R>): Effect.Effect<A, E, R> =>
  Effect.fail(error)

/** The call is done, but its answer is lost. */
export const failAfter = <E>(error: E) => <A, E2, R>(call: Effect.Effect<A, E2, R>): Effect.Effect<A, E | E2, R> =>
  Effect.andThen(call, Effect.fail(error))

/** The call dies. */
export const die = (defect: unknown) => <A, E, R>(_call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.die(defect)

/** The call never ends, but can be interrupted. */
export const hang = <A, E, R>(_call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => Effect.never

/** The call begins only after this time. */
export const slow = (duration: Duration.Input) => <A, E, R>(call: Effect.Effect<A, E, R>) =>
  Effect.delay(call, duration)

/** The call gives another answer. */
export const answer = <A>(change: (answer: A) => A) => <E, R>(call: Effect.Effect<A, E, R>) => Effect.map(call, change)

/** All of the given faults; the first is nearest to the call. */
export const all = <A, E>(...faults: ReadonlyArray<Fault<A, E>>): Fault<A, E> => (call) =>
  faults.reduce((before, fault) => fault(before), call)

/** One of the given faults, drawn by their weights. */
export const oneOf = <A, E>(
  draw: Draw,
  choices: ReadonlyArray<readonly [weight: number, fault: Fault<A, E>]>
): Fault<A, E> => {
  let left = draw.uniform() * choices.reduce((sum, [weight]) => sum + weight, 0)
  return choices.find(([weight]) => (left -= weight) < 0)?.[1] ?? none
}

/** The sampler stops in the middle, at the limit of tokens. */
export const truncated = answer<Sampling.SampledTokens>(({ logprobs, tokens }) => {
  const half = Math.ceil(tokens.length / 2)
  return { tokens: tokens.subarray(0, half), logprobs: logprobs.subarray(0, half), stopReason: "length" }
})

/** The sampler computes log-probabilities that are not numbers. */
export const notNumbers = answer<Sampling.SampledTokens>((sampled) => ({
  ...sampled,
  logprobs: sampled.logprobs.map(() => NaN)
}))

/**
 * A fault for each request to a scripted backend, where `call` counts earlier requests of the operation. A training request has been
 * accepted when its fault happens.
 */
export type Plan = (operation: Operation, call: number) => Fault<void, Reason>

/** A fault of one call of an operation; all other calls go well. */
export const call = (operation: Operation, call: number, fault: Fault<void, Reason>): Plan => (found, count) =>
  found === operation && count === call ? fault : none

/** A fault of every call of an operation. */
export const every = (operation: Operation, fault: Fault<void, Reason>): Plan => (found) =>
  found === operation ? fault : none
