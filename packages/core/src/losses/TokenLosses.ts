/** Policy losses that are computed token by token. ℓ is the current and q the sampler's log-probability, A the advantage, d = ℓ − q, ρ = eᵈ. */
import * as Loss from "../model/Loss.ts"
import { make } from "./LossExpression.ts"
import {
  add,
  and,
  clamp,
  div,
  exp,
  gt,
  lt,
  minimum,
  mul,
  named,
  neg,
  not,
  or,
  sigmoid,
  square,
  stopGradient,
  sub,
  where
} from "./LossTerm.ts"
import { clippedObjective, logRatio, ratio } from "./Ratio.ts"

/** −ρA. */
export const importanceSampling = make(
  "importance_sampling",
  { equivalent: Loss.importanceSampling },
  ({ advantages, logprobs, samplerLogprobs }) => neg(mul(ratio(logprobs, samplerLogprobs), advantages))
)

/**
 * −min(ρA, clip(ρ, low, high)A), bounds on the ratio itself. A higher `clipHigh` is clip-higher; with `dualClip` c the loss of a token
 * with A < 0 is at most c·|A|.
 *
 * PPO (arXiv:1707.06347), DAPO's clip-higher (arXiv:2503.14476), dual clip (arXiv:1912.09729).
 */
export const ppo = (
  { clipHigh = 1.2, clipLow = 0.8, dualClip }: {
    readonly clipLow?: number
    readonly clipHigh?: number
    readonly dualClip?: number
  } = {}
) =>
  make(
    dualClip === undefined ? "ppo" : "ppo_dual_clip",
    {
      parameters: { clipLow, clipHigh, dualClip: dualClip ?? Infinity },
      symbols: { clipLow: "\\rho_-", clipHigh: "\\rho_+", dualClip: "c" },
      equivalent: dualClip === undefined ? Loss.ppo({ clipLow, clipHigh }) : undefined
    },
    ({ advantages, logprobs, samplerLogprobs }, parameters) => {
      const clipped = clippedObjective(
        ratio(logprobs, samplerLogprobs),
        advantages,
        parameters.clipLow,
        parameters.clipHigh
      )
      return dualClip === undefined
        ? clipped
        : where(lt(advantages, 0), minimum(clipped, neg(mul(parameters.dualClip, advantages))), clipped)
    }
  )

/** −sg(clip(ρ, low, high))·A·ℓ: every token keeps a gradient. CISPO (MiniMax-M1, arXiv:2506.13585). */
export const cispo = (
  { clipHigh = 4, clipLow = 0 }: { readonly clipLow?: number; readonly clipHigh?: number } = {}
) =>
  make(
    "cispo",
    {
      parameters: { clipLow, clipHigh },
      symbols: { clipLow: "\\rho_-", clipHigh: "\\rho_+" },
      equivalent: Loss.cispo({ clipLow, clipHigh })
    },
    ({ advantages, logprobs, samplerLogprobs }, { clipHigh: high, clipLow: low }) =>
      neg(mul(stopGradient(clamp(ratio(logprobs, samplerLogprobs), { low, high })), advantages, logprobs))
  )

/** −(ℓA − ½βd²). Direct reward optimisation (arXiv:2405.19107), for several updates on the same data. */
export const dro = ({ beta = 0.05 }: { readonly beta?: number } = {}) =>
  make(
    "dro",
    { parameters: { beta }, symbols: { beta: "\\beta" }, equivalent: Loss.dro({ beta }) },
    ({ advantages, logprobs, samplerLogprobs }, parameters) =>
      sub(
        mul(0.5, parameters.beta, square(logRatio(logprobs, samplerLogprobs))),
        mul(logprobs, advantages)
      )
  )

/**
 * −k·ρ·A + τd², with k = 0 where the probability has moved by more than δ in the direction of the advantage: e^ℓ − e^q above `deltaHigh`
 * where A > 0, below −`deltaLow` where A < 0; otherwise k = 1. The penalty τd² stays on such tokens.
 *
 * DPPO with total variation and a squared log-ratio KL, the default of prime-rl.
 */
export const dppo = (
  { deltaHigh = 0.2, deltaLow = 0.2, tau = 1e-3 }: {
    readonly deltaLow?: number
    readonly deltaHigh?: number
    readonly tau?: number
  } = {}
) =>
  make(
    "dppo",
    {
      parameters: { deltaLow, deltaHigh, tau },
      symbols: { deltaLow: "\\delta_-", deltaHigh: "\\delta_+", tau: "\\tau" }
    },
    ({ advantages, logprobs, samplerLogprobs }, parameters) => {
      const shift = named("p_t", stopGradient(sub(exp(logprobs), exp(samplerLogprobs))))
      const isTooHigh = and(gt(advantages, 0), gt(shift, parameters.deltaHigh))
      const isTooLow = and(lt(advantages, 0), lt(shift, neg(parameters.deltaLow)))
      const keep = where(not(or(isTooHigh, isTooLow)), 1, 0)
      return add(
        neg(mul(keep, advantages, ratio(logprobs, samplerLogprobs))),
        mul(parameters.tau, square(logRatio(logprobs, samplerLogprobs)))
      )
    }
  )

/**
 * −sg(ρ·1[low < ρ < high])·A·ℓ: tokens whose ratio is out of bounds are not trained on. IcePop (Ring-1T, arXiv:2510.18855); SkyRL's
 * `rollout_is` has bounds 1 ± ε.
 */
export const icePop = (
  { clipHigh = 5, clipLow = 0.5 }: { readonly clipLow?: number; readonly clipHigh?: number } = {}
) =>
  make(
    "icepop",
    { parameters: { clipLow, clipHigh }, symbols: { clipLow: "\\rho_-", clipHigh: "\\rho_+" } },
    ({ advantages, logprobs, samplerLogprobs }, parameters) => {
      const r = ratio(logprobs, samplerLogprobs)
      const isWithin = and(gt(r, parameters.clipLow), lt(r, parameters.clipHigh))
      return neg(mul(stopGradient(where(isWithin, r, 0)), advantages, logprobs))
    }
  )

/** −(4/τ)·σ(τ(ρ − 1))·A, τ = `tauPositive` where A > 0, otherwise `tauNegative`. SAPO (arXiv:2511.20347): a soft gate instead of a clip. */
export const sapo = (
  { tauNegative = 1.05, tauPositive = 1 }: { readonly tauPositive?: number; readonly tauNegative?: number } = {}
) =>
  make(
    "sapo",
    { parameters: { tauPositive, tauNegative }, symbols: { tauPositive: "\\tau_+", tauNegative: "\\tau_-" } },
    ({ advantages, logprobs, samplerLogprobs }, parameters) => {
      const tau = named("\\tau_t", where(gt(advantages, 0), parameters.tauPositive, parameters.tauNegative))
      const gate = sigmoid(mul(tau, sub(ratio(logprobs, samplerLogprobs), 1)))
      return neg(mul(div(4, tau), gate, advantages))
    }
  )

/**
 * −sg(w)·A·ℓ, w = 1 where A > 0 and clip(ρ, 0, 1) elsewhere: `topr` with the ratio of each token in place of its sequence's.
 *
 * @see ROLL `topr`
 */
export const toprToken = make("topr_token", {}, ({ advantages, logprobs, samplerLogprobs }) => {
  const tapered = clamp(ratio(logprobs, samplerLogprobs), { low: 0, high: 1 })
  return neg(mul(stopGradient(where(gt(advantages, 0), 1, tapered)), advantages, logprobs))
})
