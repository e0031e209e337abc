/** Tokens a run has used, and how many it may use. */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Latch from "effect/Latch"
import type { SamplingClient } from "../backend/SamplingClient.ts"
import type { TrainingClient } from "../backend/TrainingClient.ts"
import type * as Sampling from "../model/Sampling.ts"
import * as Usage from "../record/Usage.ts"

/** Tokens of the iterations that count, and all tokens paid for: those of abandoned iterations too. */
export interface Account {
  readonly usage: Usage.Usage
  readonly spent: Usage.Usage
}

export const empty: Account = { usage: Usage.zero, spent: Usage.zero }

export interface TokenBudget {
  readonly account: Effect.Effect<Account>
  /** Counts tokens to be trained on, unless they do not fit: then the budget is exhausted and false returned. */
  readonly train: (tokens: number) => Effect.Effect<boolean>
  /** A client whose requests wait forever, and exhaust the budget, from the first that might not fit. */
  readonly meter: (client: SamplingClient) => SamplingClient
  /** The same for the forward passes of a training client, whose tokens count as prefilled. */
  readonly meterForward: (forward: TrainingClient["forward"]) => TrainingClient["forward"]
  /** Counts tokens that were paid for before, in an abandoned iteration whose groups are used again. */
  readonly recall: (usage: Usage.Usage) => Effect.Effect<void>
  /** Counts tokens that were sampled elsewhere, such as by a worker; exhausts the budget where they exceed it. */
  readonly count: (usage: Usage.Usage) => Effect.Effect<void>
  /** Completes when a request did not fit. */
  readonly exhausted: Effect.Effect<void>
  readonly isExhausted: Effect.Effect<boolean>
}

const sampledTokens = (response: Sampling.SampleResponse) =>
  response.sequences.reduce((count, { tokens }) => count + tokens.length, 0)

const worstCase = ({ numSamples = 1, params, prompt }: Sampling.SampleRequest): Usage.Usage => ({
  prefilled: prompt.length,
  sampled: numSamples * params.maxTokens,
  trained: 0
})

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/**
 * A budget of `limit` tokens paid for in total. Each prompt counts once per request. A request is sent once its worst case fits;
 * it waits where only requests under way are in its way. The tokens of an interrupted request are unknown, and counted as its
 * worst case.
 */
export const make = Effect.fnUntraced(function*(limit: number, before: Account) {
  const exhausted = yield* Deferred.make<void>()
  const settled = yield* Latch.make(false)
  let { spent, usage } = before
  let reserved = 0
  const pay = (tokens: Usage.Usage) => {
    usage = Usage.add(usage, tokens)
    spent = Usage.add(spent, tokens)
  }
  const reserve = (tokens: number, restore: Restore): Effect.Effect<boolean> =>
    Effect.suspend(() => {
      if (Usage.total(spent) + tokens > limit) return Effect.as(Deferred.succeed(exhausted, undefined), false)
      if (Usage.total(spent) + reserved + tokens > limit) {
        return Effect.andThen(restore(settled.await), reserve(tokens, restore))
      }
      reserved += tokens
      return Effect.succeed(true)
    })
  const settle = (tokens: number, used: Usage.Usage) =>
    Effect.suspend(() => {
      reserved -= tokens
      pay(used)
      return settled.release
    })
  /** Where the request succeeds, `used` says what it came to. */
  const metered = <A, E, R>(request: Effect.Effect<A, E, R>, worst: Usage.Usage, used: (answer: A) => Usage.Usage) => {
    const paid = (exit: Exit.Exit<A, E>): Usage.Usage => {
      if (Exit.isSuccess(exit)) return used(exit.value)
      return Cause.hasInterrupts(exit.cause) ? worst : Usage.zero
    }
    return Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(reserve(Usage.total(worst), restore), (fits) =>
        fits
          ? Effect.onExit(restore(request), (exit) => settle(Usage.total(worst), paid(exit)))
          : restore(Effect.never))
    )
  }
  const meter = (client: SamplingClient): SamplingClient => ({
    ...client,
    sample: (request) => {
      const worst = worstCase(request)
      return metered(client.sample(request), worst, (answer) => ({ ...worst, sampled: sampledTokens(answer) }))
    },
    computeLogprobs: (prompt) => {
      const used = { ...Usage.zero, prefilled: prompt.length }
      return metered(client.computeLogprobs(prompt), used, () => used)
    }
  })
  const meterForward = (forward: TrainingClient["forward"]): TrainingClient["forward"] => (data, loss) => {
    const prefilled = data.reduce((sum, { modelInput }) => sum + modelInput.length, 0)
    const used = { ...Usage.zero, prefilled }
    return metered(forward(data, loss), used, () => used)
  }
  const budget: TokenBudget = {
    account: Effect.sync(() => ({ usage, spent })),
    train: (tokens) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.tap(
          reserve(tokens, restore),
          (fits) => fits ? settle(tokens, { ...Usage.zero, trained: tokens }) : Effect.void
        )
      ),
    meter,
    meterForward,
    recall: (tokens) => Effect.sync(() => void (usage = Usage.add(usage, tokens))),
    count: (tokens) =>
      Effect.suspend(() => {
        pay(tokens)
        return Usage.total(spent) >= limit ? Effect.asVoid(Deferred.succeed(exhausted, undefined)) : Effect.void
      }),
    exhausted: Deferred.await(exhausted),
    isExhausted: Deferred.isDone(exhausted)
  }
  return budget
})
