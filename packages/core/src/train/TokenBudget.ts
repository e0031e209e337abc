/** Tokens a run has used, and how many it may use. */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Latch from "effect/Latch"
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

const worstCase = ({ numSamples = 1, params, prompt }: Sampling.SampleRequest): Usage => ({
  prefilled: prompt.length,
  sampled: numSamples * params.maxTokens,
  trained: 0
})

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

const total = ({ prefilled, sampled, trained }: Usage) => prefilled + sampled + trained

const add = (left: Usage, right: Usage): Usage => ({
  prefilled: left.prefilled + right.prefilled,
  sampled: left.sampled + right.sampled,
  trained: left.trained + right.trained
})

/**
 * At most `limit` tokens after `used`, each prompt counted once per request. A request is sent once its worst case fits; it waits
 * where only others under way are in its way. What an interrupted request used is not known, and counted as its worst case.
 */
export const make = Effect.fnUntraced(function*(limit: number, used: Usage) {
  const exhausted = yield* Deferred.make<void>()
  const settled = yield* Latch.make(false)
  let usage = used
  let reserved = 0
  const reserve = (tokens: number, restore: Restore): Effect.Effect<boolean> =>
    Effect.suspend(() => {
      if (total(usage) + tokens > limit) return Effect.as(Deferred.succeed(exhausted, undefined), false)
      if (total(usage) + reserved + tokens > limit) {
        return Effect.andThen(restore(settled.await), reserve(tokens, restore))
      }
      reserved += tokens
      return Effect.succeed(true)
    })
  const settle = (tokens: number, spent: Usage) =>
    Effect.suspend(() => {
      reserved -= tokens
      usage = add(usage, spent)
      return settled.release
    })
  const metered = (client: SamplingClient, request: Sampling.SampleRequest) => {
    const worst = worstCase(request)
    const spent = (exit: Exit.Exit<Sampling.SampleResponse, unknown>): Usage => {
      if (Exit.isSuccess(exit)) return { ...worst, sampled: sampledTokens(exit.value) }
      return Cause.hasInterrupts(exit.cause) ? worst : noUsage
    }
    return Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(reserve(total(worst), restore), (fits) =>
        fits
          ? Effect.onExit(restore(client.sample(request)), (exit) => settle(total(worst), spent(exit)))
          : restore(Effect.never))
    )
  }
  const budget: TokenBudget = {
    usage: Effect.sync(() => usage),
    train: (tokens) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.tap(
          reserve(tokens, restore),
          (fits) => fits ? settle(tokens, { ...noUsage, trained: tokens }) : Effect.void
        )
      ),
    meter: (client) => ({ ...client, sample: (request) => metered(client, request) }),
    exhausted: Deferred.await(exhausted),
    isExhausted: Deferred.isDone(exhausted)
  }
  return budget
})
