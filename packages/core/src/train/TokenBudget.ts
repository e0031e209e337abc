/** Tokens a run has used, and how many it may use. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { SamplingClient } from "../backend/SamplingClient.ts"
import type * as Sampling from "../model/Sampling.ts"

export interface Usage {
  readonly prefilled: number
  readonly sampled: number
  readonly trained: number
}

export const noUsage: Usage = { prefilled: 0, sampled: 0, trained: 0 }

export interface TokenBudget {
  readonly usage: Effect.Effect<Usage>
  /** Counts tokens to be trained on, unless they do not fit: then the budget is exhausted and false returned. */
  readonly train: (tokens: number) => Effect.Effect<boolean>
  /** A client whose requests wait forever, and exhaust the budget, from the first that might not fit. */
  readonly meter: (client: SamplingClient) => SamplingClient
  /** Completes when a request did not fit. */
  readonly exhausted: Effect.Effect<void>
  readonly isExhausted: Effect.Effect<boolean>
}

const sampledTokens = (response: Sampling.SampleResponse) =>
  response.sequences.reduce((count, { tokens }) => count + tokens.length, 0)

/** At most `limit` tokens after `used`, each prompt counted once per request. */
export const make = Effect.fnUntraced(function*(limit: number, used: Usage) {
  const exhausted = yield* Deferred.make<void>()
  let usage = used
  let reserved = 0
  const reserve = (tokens: number) =>
    Effect.suspend(() => {
      const total = usage.prefilled + usage.sampled + usage.trained + reserved + tokens
      if (total > limit) return Effect.as(Deferred.succeed(exhausted, undefined), false)
      reserved += tokens
      return Effect.succeed(true)
    })
  const settle = (tokens: number, spent: Partial<Usage>) => {
    reserved -= tokens
    usage = {
      prefilled: usage.prefilled + (spent.prefilled ?? 0),
      sampled: usage.sampled + (spent.sampled ?? 0),
      trained: usage.trained + (spent.trained ?? 0)
    }
  }
  const budget: TokenBudget = {
    usage: Effect.sync(() => usage),
    train: (tokens) =>
      Effect.tap(reserve(tokens), (fits) => Effect.sync(() => fits && settle(tokens, { trained: tokens }))),
    meter: (client) => ({
      ...client,
      sample: (request) => {
        const prefilled = request.prompt.length
        const tokens = prefilled + (request.numSamples ?? 1) * request.params.maxTokens
        const sampled = client.sample(request).pipe(
          Effect.tap((response) => Effect.sync(() => settle(tokens, { prefilled, sampled: sampledTokens(response) }))),
          Effect.tapCause(() => Effect.sync(() => settle(tokens, {})))
        )
        return Effect.flatMap(reserve(tokens), (fits) => fits ? sampled : Effect.never)
      }
    }),
    exhausted: Deferred.await(exhausted),
    isExhausted: Deferred.isDone(exhausted)
  }
  return budget
})
