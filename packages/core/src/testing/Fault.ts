/** What goes wrong in one call, whoever is called. */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Reason } from "../backend/TinkerError.ts"
import type * as Sampling from "../model/Sampling.ts"
import type { Operation } from "./Call.ts"
import type { Draw } from "./Draw.ts"

/** The call, as it then goes. */
export type Fault<A, E> = <R>(call: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** Nothing goes wrong. */
export const none = <A, E, R>(call: Effect.Effect<A, E, R>) => call

/** It fails before it begins. */
export const fail = <E>(error: E) => <A, R>(_call: Effect.Effect<A, unknown, R>): Effect.Effect<A, E, R> =>
  Effect.fail(error)

/** It is done, and its answer is lost. */
export const failAfter = <E>(error: E) => <A, E2, R>(call: Effect.Effect<A, E2, R>): Effect.Effect<A, E | E2, R> =>
  Effect.andThen(call, Effect.fail(error))

/** It throws. */
export const die = (defect: unknown) => <A, E, R>(_call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.die(defect)

/** It never ends, but can be interrupted. */
export const hang = <A, E, R>(_call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => Effect.never

/** It begins only after this time. */
export const slow = (duration: Duration.Input) => <A, E, R>(call: Effect.Effect<A, E, R>) =>
  Effect.delay(call, duration)

/** It answers something else. */
export const answer = <A>(change: (answer: A) => A) => <E, R>(call: Effect.Effect<A, E, R>) => Effect.map(call, change)

/** All of them, the first nearest to the call. */
export const all = <A, E>(...faults: ReadonlyArray<Fault<A, E>>): Fault<A, E> => (call) =>
  faults.reduce((before, fault) => fault(before), call)

/** One of the given, each as likely as its weight says. */
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

/** A fault for each request to a scripted backend, `call` being how many of the operation came before; a training request has then been accepted. */
export type Plan = (operation: Operation, call: number) => Fault<void, Reason>

/** One call of an operation; all others go well. */
export const call = (operation: Operation, call: number, fault: Fault<void, Reason>): Plan => (found, count) =>
  found === operation && count === call ? fault : none

/** Every call of an operation. */
export const every = (operation: Operation, fault: Fault<void, Reason>): Plan => (found) =>
  found === operation ? fault : none
