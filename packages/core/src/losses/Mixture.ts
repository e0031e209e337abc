/** Policy losses mixed with cross entropy, each component divided by a token count of its own. */
import * as Array from "effect/Array"
import type * as Datum from "../model/Datum.ts"
import { type Example, make } from "./LossExpression.ts"
import { add, div, mul, neg, sum } from "./LossTerm.ts"
import { clippedObjective, ratio } from "./Ratio.ts"

/** The extra inputs of `withObservations`: 1 on tokens to imitate, and the token counts of the whole batch. */
export type ObservationExtras = {
  readonly observationMask: "token"
  readonly actionTokens: "sequence"
  readonly observationTokens: "sequence"
}

export interface ObservationOptions {
  readonly clipLow?: number
  readonly clipHigh?: number
  /** Weight of the cross entropy. */
  readonly weight?: number
}

/**
 * RL on the action tokens and cross entropy on what tools and environments answered: Σ PPO / actionTokens − weight·Σ ℓ /
 * observationTokens. ECHO as in prime-rl: the policy also learns to predict the answers of its tools.
 */
export const withObservations = (
  { clipHigh = 1.2, clipLow = 0.8, weight = 0.1 }: ObservationOptions = {}
) =>
  make(
    "ppo_with_observations",
    {
      parameters: { clipLow, clipHigh, weight },
      extras: { observationMask: "token", actionTokens: "sequence", observationTokens: "sequence" },
      symbols: {
        clipLow: "\\rho_-",
        clipHigh: "\\rho_+",
        weight: "\\alpha",
        observationMask: "o_t",
        actionTokens: "N_A",
        observationTokens: "N_O"
      }
    },
    ({ actionTokens, advantages, logprobs, observationMask, observationTokens, samplerLogprobs }, parameters) => {
      const r = ratio(logprobs, samplerLogprobs)
      const policy = clippedObjective(r, advantages, parameters.clipLow, parameters.clipHigh)
      const imitation = neg(sum(logprobs, observationMask))
      return add(div(sum(policy), actionTokens), mul(parameters.weight, div(imitation, observationTokens)))
    }
  )

const total = (valuesD: ReadonlyArray<Float32Array>) =>
  valuesD.reduce((sum, valuesT) => valuesT.reduce((count, value) => count + value, sum), 0)

/** The data of a whole batch with their masks of observations `[T]` and the counts of both kinds of tokens, at least 1. */
export const countTokens = (
  data: Array.NonEmptyReadonlyArray<readonly [datum: Datum.Datum<"PolicyTokens">, observationMask: Float32Array]>
): Array.NonEmptyReadonlyArray<Example<ObservationExtras>> => {
  const actionTokens = Math.max(1, total(data.map(([{ inputs }]) => inputs.mask)))
  const observationTokens = Math.max(1, total(data.map(([, observationMask]) => observationMask)))
  return Array.map(data, ([datum, observationMask]) => ({
    ...datum,
    extras: { observationMask, actionTokens, observationTokens }
  }))
}
