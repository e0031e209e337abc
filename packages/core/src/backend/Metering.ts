/**
 * How a run counts requests to models beside the weights being trained: reference policies, teachers and judges.
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

/** Tokens and verdicts that were requested from one model. */
export interface Tokens {
  readonly prefilled: number
  readonly sampled: number
  readonly trained: number
  /** Prefilled tokens that came from a cache; 0 unless given. */
  readonly cached?: number | undefined
  /** Verdicts that were asked for; 0 unless given. */
  readonly judgeCalls?: number | undefined
}

/** How requests are counted and limited. */
export interface Metering {
  /**
   * A client whose requests are counted, at the prices of the model that it is named after unless `model` is given. A request that passes
   * two metered clients is counted once.
   */
  readonly meter: (client: SamplingClient, model?: string) => SamplingClient
  /**
   * Counts tokens of requests that no metered client made, once they are known: they may exceed a limit, which then ends the run. Pass
   * undefined where the model does not tell how many there were; the run's dollars are then unknown.
   */
  readonly count: (model: string, tokens: Tokens | undefined) => Effect.Effect<void>
  /** False while a run is only planned: requests that no metered client makes must then fail instead of being sent. */
  readonly asks: boolean
  /** Counts a verdict of a judge, whose tokens are counted where they are sampled. A plan, which asks no judge, takes `neutral`. */
  readonly judge: <A, E, R>(verdict: Effect.Effect<A, E, R>, neutral: A) => Effect.Effect<A, E, R>
}

/** The metering of all requests to models beside the weights being trained; a run provides that of its budget. */
export const Metering = Context.Reference<Metering>("@effect-rl/core/backend/Metering", {
  defaultValue: () => ({ meter: (client) => client, count: () => Effect.void, asks: true, judge: (verdict) => verdict })
})

/** Tokens of a request: what was sampled where the answer is known, or else the most that it may sample. */
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

/** A model and the tokens that it used; undefined where the model does not tell them. */
export type Used = readonly [model: string, tokens: Tokens | undefined]

/** A metering that only counts, and the counts so far. */
export interface Counter {
  readonly metering: Metering
  readonly used: () => ReadonlyArray<Used>
}

/** Counts by model and limits nothing: for groups that are rolled out elsewhere, whose tokens a run then adds with `count`. */
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
