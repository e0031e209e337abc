/**
 * Counts a run's requests to models other than the one being trained: reference policies, teachers and judges.
 *
 * @example
 * const { metering, used } = Metering.counter()
 * const answer = metering.meter(client).sample({ prompt, params: { maxTokens: 8 } }).pipe(
 *   Effect.tap(() => Console.log(used()))
 * )
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Sampling from "../model/Sampling.ts"
import type { SamplingClient } from "./SamplingClient.ts"

/** The tokens and judge verdicts requested from one model. */
export interface Tokens {
  readonly prefilled: number
  readonly sampled: number
  readonly trained: number
  /** Prefilled tokens that came from a cache. Default: 0. */
  readonly cached?: number | undefined
  /** Requested verdicts. Default: 0. */
  readonly judgeCalls?: number | undefined
}

/** How requests are counted and limited. */
export interface Metering {
  /**
   * Wraps a client so that its requests are counted for `model`, whose prices apply. Default: the client's `modelPath`. A request that
   * passes two metered clients is counted once.
   */
  readonly meter: (client: SamplingClient, model?: string) => SamplingClient
  /**
   * Counts the tokens of requests that no metered client made. They are counted after the fact, so they may exceed a limit; the run then
   * ends. Pass undefined if the model does not report its tokens; the cost of the run in dollars is then unknown.
   */
  readonly count: (model: string, tokens: Tokens | undefined) => Effect.Effect<void>
  /** False while a run is only planned. Requests outside metered clients must then fail instead of being sent. */
  readonly asks: boolean
  /**
   * Counts one verdict of a judge; its tokens are counted where they are sampled. While a run is only planned, nothing is sent to the
   * judge, and the result is `neutral`.
   */
  readonly judge: <A, E, R>(verdict: Effect.Effect<A, E, R>, neutral: A) => Effect.Effect<A, E, R>
}

/** The metering in effect for all models other than the one being trained. A run provides its own. Default: nothing is counted. */
export const Metering = Context.Reference<Metering>("@effect-rl/core/backend/Metering", {
  defaultValue: () => ({ meter: (client) => client, count: () => Effect.void, asks: true, judge: (verdict) => verdict })
})

/** The tokens of a request. Without an answer, `sampled` is the most that the request may sample. */
export const asked = (request: Sampling.SampleRequest, answer?: Sampling.SampleResponse): Tokens => ({
  prefilled: request.prompt.length,
  sampled: answer === undefined
    ? (request.numSamples ?? 1) * request.params.maxTokens
    : answer.sequences.reduce((sum, { tokens }) => sum + tokens.length, 0),
  trained: 0,
  cached: answer?.promptCacheHitTokens
})

const none: Tokens = { prefilled: 0, sampled: 0, trained: 0 }

const add = (left: Tokens, right: Tokens): Tokens => ({
  prefilled: left.prefilled + right.prefilled,
  sampled: left.sampled + right.sampled,
  trained: left.trained + right.trained,
  cached: (left.cached ?? 0) + (right.cached ?? 0),
  judgeCalls: (left.judgeCalls ?? 0) + (right.judgeCalls ?? 0)
})

/** A model and the tokens that it used; undefined if the model does not report them. */
export type Used = readonly [model: string, tokens: Tokens | undefined]

/** A metering that only counts, and the counts so far. */
export interface Counter {
  readonly metering: Metering
  readonly used: () => ReadonlyArray<Used>
}

/**
 * Counts tokens and judge calls by model, and enforces no limits. Used for groups that are rolled out in another process: the run then adds
 * their tokens with `count`.
 */
export const counter = (): Counter => {
  const known = new Map<string, Tokens>()
  const unknown = new Set<string>()
  const count = (model: string, tokens: Tokens | undefined) =>
    Effect.sync(() => {
      if (tokens === undefined) unknown.add(model)
      else known.set(model, add(known.get(model) ?? none, tokens))
    })
  const metering: Metering = {
    meter: (client, model = client.modelPath) => ({
      ...client,
      sample: (request) =>
        Effect.onExit(client.sample(request), (exit) => {
          if (Exit.isSuccess(exit)) return count(model, asked(request, exit.value))
          return Cause.hasInterrupts(exit.cause) ? count(model, asked(request)) : Effect.void
        }),
      computeLogprobs: (prompt) =>
        Effect.tap(client.computeLogprobs(prompt), () => count(model, { ...none, prefilled: prompt.length }))
    }),
    count,
    asks: true,
    judge: (verdict) => Effect.ensuring(verdict, count("judge", { ...none, judgeCalls: 1 }))
  }
  return { metering, used: () => [...known, ...Array.from(unknown, (model): Used => [model, undefined])] }
}
