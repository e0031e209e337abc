/** Policy losses that take the tokens of a sequence together. T is the number of action tokens, sums go over them. */
import * as Loss from "../model/Loss.ts"
import { make } from "./LossExpression.ts"
import {
  add,
  and,
  clamp,
  exp,
  ge,
  gt,
  lt,
  mean,
  minimum,
  mul,
  named,
  neg,
  sign,
  stopGradient,
  sub,
  sum,
  where
} from "./LossTerm.ts"
import { clippedObjective, logRatio, ratio } from "./Ratio.ts"

/**
 * −min(sA, clip(s, low, high)A), s = sg(e^mean(d))·e^(ℓ − sg ℓ), with the exponent at most 10: every token has the ratio of its
 * sequence, and a gradient of its own. GSPO's token variant (arXiv:2507.18071).
 */
export const gspo = (
  { clipHigh = 1.0004, clipLow = 0.9997 }: { readonly clipLow?: number; readonly clipHigh?: number } = {}
) =>
  make(
    "gspo",
    {
      parameters: { clipLow, clipHigh },
      symbols: { clipLow: "s_-", clipHigh: "s_+" },
      equivalent: Loss.gspo({ clipLow, clipHigh })
    },
    ({ advantages, logprobs, samplerLogprobs }, parameters) => {
      const geometric = stopGradient(mean(logRatio(logprobs, samplerLogprobs)))
      const exponent = add(sub(logprobs, stopGradient(logprobs)), geometric)
      const s = named("s_t", exp(clamp(exponent, { high: 10 })))
      return clippedObjective(s, advantages, parameters.clipLow, parameters.clipHigh)
    }
  )

/**
 * PPO without the sequences that have A < 0 and have drifted: those with mean(q − ℓ) > δ. Off-policy sequence masking (DeepSeek-V3.2,
 * arXiv:2512.02556).
 */
export const opsm = (
  { clipHigh = 1.2, clipLow = 0.8, delta = 0.05 }: {
    readonly clipLow?: number
    readonly clipHigh?: number
    readonly delta?: number
  } = {}
) =>
  make(
    "opsm",
    {
      parameters: { clipLow, clipHigh, delta },
      symbols: { clipLow: "\\rho_-", clipHigh: "\\rho_+", delta: "\\delta" }
    },
    ({ advantages, logprobs, samplerLogprobs }, parameters) => {
      const clipped = clippedObjective(
        ratio(logprobs, samplerLogprobs),
        advantages,
        parameters.clipLow,
        parameters.clipHigh
      )
      const drift = neg(mean(logRatio(logprobs, samplerLogprobs)))
      return where(and(lt(advantages, 0), gt(drift, parameters.delta)), 0, clipped)
    }
  )

/**
 * −sg(φ)·A·ℓ, φ = exp(λ + k·log w − λw), w the ratio of the whole sequence with its log within [log 10⁻⁸, 20], and (k, λ) by the sign
 * of A. VESPO (arXiv:2602.10693).
 */
export const vespo = (
  { kNegative = 3, kPositive = 2, lambdaNegative = 2, lambdaPositive = 3 }: {
    readonly kPositive?: number
    readonly lambdaPositive?: number
    readonly kNegative?: number
    readonly lambdaNegative?: number
  } = {}
) =>
  make(
    "vespo",
    {
      parameters: { kPositive, lambdaPositive, kNegative, lambdaNegative },
      symbols: { kPositive: "k_+", lambdaPositive: "\\lambda_+", kNegative: "k_-", lambdaNegative: "\\lambda_-" }
    },
    ({ advantages, logprobs, samplerLogprobs }, parameters) => {
      const bounded = clamp(logRatio(logprobs, samplerLogprobs), { low: -20, high: 20 })
      const logWeight = named("\\log w", clamp(sum(bounded), { low: Math.log(1e-8), high: 20 }))
      const isGood = ge(advantages, 0)
      const k = named("k_t", where(isGood, parameters.kPositive, parameters.kNegative))
      const lambda = named("\\lambda_t", where(isGood, parameters.lambdaPositive, parameters.lambdaNegative))
      const phi = exp(sub(add(lambda, mul(k, logWeight)), mul(lambda, exp(logWeight))))
      return neg(mul(stopGradient(phi), advantages, logprobs))
    }
  )

/**
 * −Ā·exp(mean(sgn(A)·min(sgn(A)d, sgn(A)·clip(d, −ε, ε)))), Ā the mean advantage: one value per sequence, whatever its length. GMPO
 * (arXiv:2507.20673).
 */
export const gmpo = ({ epsilon = 0.4 }: { readonly epsilon?: number } = {}) =>
  make(
    "gmpo",
    { parameters: { epsilon }, symbols: { epsilon: "\\varepsilon" } },
    ({ advantages, logprobs, samplerLogprobs }, parameters) => {
      const d = logRatio(logprobs, samplerLogprobs)
      const s = named("s_t", sign(advantages))
      const clipped = clamp(d, { low: neg(parameters.epsilon), high: parameters.epsilon })
      return neg(mul(mean(advantages), exp(mean(mul(s, minimum(mul(s, d), mul(s, clipped)))))))
    }
  )

/**
 * −sg(w)·A·ℓ, w = 1 where A > 0 and clip(e^Σd, 0, 1) elsewhere, the ratio of the whole sequence. TOPR (arXiv:2503.14286): good answers
 * are learnt from as they are, bad ones only as far as the policy still gives them.
 */
export const topr = make("topr", {}, ({ advantages, logprobs, samplerLogprobs }) => {
  const tapered = named("w", exp(clamp(sum(logRatio(logprobs, samplerLogprobs)), { high: 0 })))
  return neg(mul(stopGradient(where(gt(advantages, 0), 1, tapered)), advantages, logprobs))
})
