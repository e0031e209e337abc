/** The weights that groups sample with: a group keeps those it was begun with, or hops to newer ones on its way. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as RcMap from "effect/RcMap"
import type * as Scope from "effect/Scope"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { Weights } from "../backend/Weights.ts"
import * as HopSampling from "../policy/HopSampling.ts"
import * as Policy from "../policy/Policy.ts"
import * as GroupResult from "../rollout/GroupResult.ts"
import type * as RlOptions from "./RlOptions.ts"

/** Sampled tokens, and how many iterations were behind the weights that sampled them. */
export interface TokenSpan {
  readonly began: number
  readonly length: number
}

export interface PublishedWeights {
  /** Newer weights take the place of older ones when they are there; returns the optimizer steps behind them. */
  readonly publish: (iteration: number) => Effect.Effect<number, TinkerError>
  /** The policy of a group that begins, and the optimizer steps behind its weights; the scope holds what it keeps. */
  readonly begin: Effect.Effect<
    { readonly policy: Policy.Policy<TinkerError>; readonly step: number },
    TinkerError,
    Scope.Scope
  >
  /** Which weights sampled the tokens of a group that may have hopped: none older than those it was begun with. */
  readonly spans: (began: number, result: GroupResult.GroupResult) => ReadonlyArray<TokenSpan>
}

type Options<E, R, CE, CR> = Pick<RlOptions.Resolved<E, R, CE, CR>, "sampling" | "tokenizer" | "pace">

/** `recorded` is the first iteration with weights of so many optimizer steps, as far as the run's records know. */
export const make = Effect.fnUntraced(function*<E, R, CE, CR>(
  { pace, sampling, tokenizer }: Options<E, R, CE, CR>,
  weights: Weights,
  recorded: ReadonlyMap<number, number>
) {
  const samplers = yield* RcMap.make({
    lookup: (_iteration: number) => weights.sampler,
    idleTimeToLive: Duration.infinity
  })
  const iterations = new Map(recorded)
  let published = -1
  let step = 0

  const newest = Effect.suspend(() => RcMap.get(samplers, published))
  // Without a step off-policy no newer weights are published while a group is on its way.
  const hopping = pace?.hop === true && pace.maxStepsOffPolicy > 0
    ? HopSampling.policy(newest, sampling, { every: pace.hopTokens, tokenizer })
    : undefined

  const own: PublishedWeights = {
    publish: Effect.fnUntraced(function*(iteration) {
      step = (yield* Effect.scoped(RcMap.get(samplers, iteration))).step
      if (!iterations.has(step)) iterations.set(step, iteration)
      const older = published
      published = iteration
      if (older !== published) yield* RcMap.invalidate(samplers, older)
      return step
    }),
    begin: hopping === undefined
      ? Effect.map(newest, ({ client, step }) => ({ policy: Policy.fromSamplingClient(client, sampling), step }))
      : Effect.sync(() => ({ policy: hopping, step })),
    spans: (began, result) => {
      if (hopping === undefined || GroupResult.isSkipped(result)) return []
      const turns = GroupResult.survivors(result).flatMap(([, { transitions }]) => transitions)
      // An iteration without an optimizer step publishes the weights of the one before it.
      return turns.flatMap(({ action: { weights = [] } }) =>
        weights.map(({ length, step }) => ({ began: Math.max(began, iterations.get(step) ?? published), length }))
      )
    }
  }
  return own
})
