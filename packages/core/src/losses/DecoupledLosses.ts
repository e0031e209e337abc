/**
 * Policy losses with three policies: ℓ current, q sampler's, and π proximal, the policy before the first update of the iteration, to which
 * PPO's clip refers. The difference between sampler and proximal policy becomes a weight. `Objective.proximal` and `Objective.decoupled`
 * train with them.
 */
import { type Example, make } from "./LossExpression.ts"
import { add, and, clamp, exp, ge, le, mul, named, stopGradient, sub, sum, where } from "./LossTerm.ts"
import { clippedObjective, type PerToken } from "./Ratio.ts"

/** Bounds on the importance ratio. */
export interface Clip {
  readonly clipLow?: number
  readonly clipHigh?: number
}

/** Whether the weight is a token's, or that of its whole sequence. */
export type Level = "token" | "sequence"

const clipSymbols = { clipLow: "\\rho_-", clipHigh: "\\rho_+", proximalLogprobs: "\\pi_t" }

const weightOf = (level: Level, proximal: PerToken, sampler: PerToken) => {
  const distance = sub(proximal, sampler)
  return named("w", level === "token" ? exp(distance) : exp(sum(distance)))
}

/**
 * min(w, cap)·PPO(ℓ, π), w = e^(π − q), of a token or of the whole sequence. Truncated importance sampling (TIS), for a sampler that
 * differs from the trainer in numerics or age.
 */
export const truncated = (
  { cap = 2, clipHigh = 1.2, clipLow = 0.8, level = "token" }: Clip & {
    readonly cap?: number
    readonly level?: Level
  } = {}
) =>
  make(
    `tis_${level}`,
    {
      parameters: { clipLow, clipHigh, cap },
      extras: { proximalLogprobs: "token" },
      symbols: { ...clipSymbols, cap: "C" }
    },
    ({ advantages, logprobs, proximalLogprobs, samplerLogprobs }, parameters) => {
      const r = named("r_t", exp(sub(logprobs, proximalLogprobs)))
      const weight = clamp(weightOf(level, proximalLogprobs, samplerLogprobs), { high: parameters.cap })
      return mul(weight, clippedObjective(r, advantages, parameters.clipLow, parameters.clipHigh))
    }
  )

/**
 * w·1[low ≤ w ≤ high]·PPO(ℓ, π), w = e^(π − q), of a token or of the whole sequence. Masked importance sampling (MIS): tokens on which
 * sampler and proximal policy differ too much are not trained on.
 */
export const masked = (
  { clipHigh = 1.2, clipLow = 0.8, high = 3, level = "sequence", low = 0 }: Clip & {
    readonly low?: number
    readonly high?: number
    readonly level?: Level
  } = {}
) =>
  make(
    `mis_${level}`,
    {
      parameters: { clipLow, clipHigh, low, high },
      extras: { proximalLogprobs: "token" },
      symbols: { ...clipSymbols, low: "w_-", high: "w_+" }
    },
    ({ advantages, logprobs, proximalLogprobs, samplerLogprobs }, parameters) => {
      const r = named("r_t", exp(sub(logprobs, proximalLogprobs)))
      const weight = weightOf(level, proximalLogprobs, samplerLogprobs)
      const isWithin = and(ge(weight, parameters.low), le(weight, parameters.high))
      return mul(
        where(isWithin, weight, 0),
        clippedObjective(r, advantages, parameters.clipLow, parameters.clipHigh)
      )
    }
  )

/**
 * e^(π − q)·PPO(ℓ, π) with π = sg(q + α(ℓ − q)): the proximal policy is taken to lie between sampler and current policy, in
 * proportion to their ages, so that it costs no forward pass. `interpolation` gives α. Decoupled PPO (AReaL, arXiv:2505.24298) with
 * the log-linear approximation.
 */
export const decoupled = ({ clipHigh = 1.2, clipLow = 0.8 }: Clip = {}) =>
  make(
    "decoupled_ppo",
    {
      parameters: { clipLow, clipHigh },
      extras: { alpha: "token" },
      symbols: { clipLow: "\\rho_-", clipHigh: "\\rho_+", alpha: "\\alpha_t" }
    },
    ({ advantages, alpha, logprobs, samplerLogprobs }, parameters) => {
      const between = add(samplerLogprobs, mul(alpha, sub(logprobs, samplerLogprobs)))
      const proximal = named("\\pi_t", stopGradient(between))
      const r = named("r_t", exp(sub(logprobs, proximal)))
      return mul(
        exp(sub(proximal, samplerLogprobs)),
        clippedObjective(r, advantages, parameters.clipLow, parameters.clipHigh)
      )
    }
  )

/**
 * α per token for `decoupled`: (v − 1 − b) / (v − b) of the current version v and the version b that sampled the token, within 0 and 1; 0
 * for tokens of the current version, and for b < 0, which marks tokens that no version sampled.
 */
export const interpolation = (versionsT: ArrayLike<number>, current: number): Float32Array =>
  Float32Array.from(versionsT, (version) =>
    version < 0 || version >= current
      ? 0
      : Math.min(Math.max((current - 1 - version) / (current - version), 0), 1))

/** A datum that `truncated` and `masked` read. */
export type Proximal = Example<{ readonly proximalLogprobs: "token" }>
