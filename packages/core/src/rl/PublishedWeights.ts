/** The weights that groups sample with: a group keeps those it was begun with. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as RcRef from "effect/RcRef"
import type * as Scope from "effect/Scope"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { Weights } from "../backend/Weights.ts"
import * as Policy from "../policy/Policy.ts"

export interface PublishedWeights {
  /** Newer weights take the place of older ones; returns the optimizer steps behind them. */
  readonly publish: Effect.Effect<number, TinkerError>
  /** The policy of a group that begins, and the optimizer steps behind its weights; the scope holds what it keeps. */
  readonly begin: Effect.Effect<
    { readonly policy: Policy.Policy<TinkerError>; readonly step: number },
    TinkerError,
    Scope.Scope
  >
}

export const make = Effect.fnUntraced(function*(sampling: Policy.SamplingOptions, { sampler }: Weights) {
  const newest = yield* RcRef.make({ acquire: sampler, idleTimeToLive: Duration.infinity })
  const own: PublishedWeights = {
    publish: Effect.gen(function*() {
      yield* RcRef.invalidate(newest)
      return (yield* Effect.scoped(RcRef.get(newest))).step
    }),
    begin: Effect.map(
      RcRef.get(newest),
      ({ client, step }) => ({ policy: Policy.fromSamplingClient(client, sampling), step })
    )
  }
  return own
})
