/**
 * Policy losses from the literature as expressions, each with its formula and source. They are ordered: losses computed per token, losses
 * that combine the tokens of a sequence, losses with a third policy, and losses mixed with cross entropy.
 *
 * Notation: ℓ is the current log-probability of a token, q the sampler's, A its advantage, d = ℓ − q, ρ = eᵈ, and T the number of action
 * tokens, over which sums range. π is the proximal policy, the one before the iteration's first update, to which PPO's clip refers; the
 * ratio of the proximal policy to the sampler becomes a weight. `Objective.proximal` and `Objective.decoupled` train with losses that use
 * π.
 *
 * @example
 * Rl.run({ model, dataset, sampling: { maxTokens: 64 }, update: { learningRate: 1e-4, loss: PolicyLoss.dppo() } })
 */
import * as Array from "effect/Array"
import type * as Datum from "../model/Datum.ts"
import * as Loss from "../model/Loss.ts"
import { type Example, make } from "./LossExpression.ts"
import {
  add,
  and,
  clamp,
  div,
  exp,
  ge,
  gt,
  le,
  lt,
  mean,
  minimum,
  mul,
  named,
  neg,
  not,
  or,
  sigmoid,
  sign,
  square,
  stopGradient,
  sub,
  sum,
  type Term,
  where
} from "./LossTerm.ts"

type PerToken = Term<"token", "number">
type PerSequence = Term<"sequence", "number">

/** d = ℓ − q: the change of a token's log-probability since it was sampled. */
const logRatio = (logprobs: PerToken, samplerLogprobs: PerToken): PerToken =>
  named("d_t", sub(logprobs, samplerLogprobs))

/** ρ = eᵈ. */
const ratio = (logprobs: PerToken, samplerLogprobs: PerToken): PerToken =>
  named("\\rho_t", exp(logRatio(logprobs, samplerLogprobs)))

/** −min(r·A, clip(r)·A): PPO's clipped objective for any ratio r. */
const clippedObjective = (
  ratio: PerToken,
  advantages: PerToken,
  low: PerSequence,
  high: PerSequence
): PerToken => neg(minimum(mul(ratio, advantages), mul(clamp(ratio, { low, high }), advantages)))

/** −ρA: the policy gradient with importance weights, without clipping. */
export const importanceSampling = make(
  "importance_sampling",
  { equivalent: Loss.importanceSampling },
  ({ advantages, logprobs, samplerLogprobs }) => neg(mul(ratio(logprobs, samplerLogprobs), advantages))
)

/**
 * −min(ρA, clip(ρ, low, high)A), with the bounds on the ratio itself. A higher `clipHigh` gives clip-higher; with `dualClip` c, the loss of
 * a token with A < 0 is at most c·|A|. Default bounds: 0.8 and 1.2, without `dualClip`.
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

/** −sg(clip(ρ, low, high))·A·ℓ: every token keeps a gradient. Default bounds: 0 and 4. CISPO (MiniMax-M1, arXiv:2506.13585). */
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

/** −(ℓA − ½βd²), default β 0.05. Direct reward optimisation (arXiv:2405.19107), for several updates on the same data. */
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
 * −k·ρ·A + τd². k is 0 if the probability has already moved by more than δ in the direction of the advantage (e^ℓ − e^q above `deltaHigh`
 * for A > 0, below −`deltaLow` for A < 0), otherwise 1. The penalty τd² applies to all tokens. Defaults: δ 0.2 on both sides, τ 10⁻³.
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
 * −sg(ρ·1[low < ρ < high])·A·ℓ: tokens whose ratio is out of bounds are not trained on. Default bounds: 0.5 and 5. IcePop
 * (Ring-1T, arXiv:2510.18855); SkyRL's `rollout_is` has the bounds 1 ± ε.
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

/**
 * −(4/τ)·σ(τ(ρ − 1))·A, with τ = `tauPositive` (default 1) for A > 0, otherwise `tauNegative` (default 1.05). SAPO (arXiv:2511.20347): a
 * soft gate instead of a clip.
 */
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
 * −sg(w)·A·ℓ, with w = 1 for A > 0 and clip(ρ, 0, 1) otherwise: `topr` with the ratio of each token instead of the sequence's.
 *
 * @see ROLL `topr`
 */
export const toprToken = make("topr_token", {}, ({ advantages, logprobs, samplerLogprobs }) => {
  const tapered = clamp(ratio(logprobs, samplerLogprobs), { low: 0, high: 1 })
  return neg(mul(stopGradient(where(gt(advantages, 0), 1, tapered)), advantages, logprobs))
})

/**
 * −min(sA, clip(s, low, high)A), with s = sg(e^mean(d))·e^(ℓ − sg ℓ) and the exponent at most 10: every token has the ratio of its
 * sequence, but its own gradient. Default bounds: 0.9997 and 1.0004. GSPO's token variant (arXiv:2507.18071).
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
 * PPO that leaves out tokens with A < 0 in sequences with mean(q − ℓ) > δ, which have drifted too far. Off-policy sequence masking
 * (DeepSeek-V3.2, arXiv:2512.02556). Defaults: bounds 0.8 and 1.2, δ 0.05.
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
 * −sg(φ)·A·ℓ, with φ = exp(λ + k·log w − λw). There log w is the sum of the tokens' log-ratios, each limited to ±20, and the sum itself
 * is limited to [log 10⁻⁸, 20]. By default (k, λ) is (2, 3) for A ≥ 0 and (3, 2) for A < 0. VESPO (arXiv:2602.10693).
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
 * −Ā·exp(mean(sgn(A)·min(sgn(A)d, sgn(A)·clip(d, −ε, ε)))), where Ā is the mean advantage: one value per sequence, independent of its
 * length. Default ε: 0.4. GMPO (arXiv:2507.20673).
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
 * −sg(w)·A·ℓ, with w = 1 for A > 0 and otherwise clip(e^Σd, 0, 1), the ratio of the whole sequence. TOPR (arXiv:2503.14286): good answers
 * are trained on with full weight, bad ones only in proportion to how likely the policy still makes them.
 */
export const topr = make("topr", {}, ({ advantages, logprobs, samplerLogprobs }) => {
  const tapered = named("w", exp(clamp(sum(logRatio(logprobs, samplerLogprobs)), { high: 0 })))
  return neg(mul(stopGradient(where(gt(advantages, 0), 1, tapered)), advantages, logprobs))
})

/** Bounds on the importance ratio. */
export interface Clip {
  readonly clipLow?: number
  readonly clipHigh?: number
}

/** Whether the weight is computed per token or for the whole sequence. */
export type Level = "token" | "sequence"

const clipSymbols = { clipLow: "\\rho_-", clipHigh: "\\rho_+", proximalLogprobs: "\\pi_t" }

const weightOf = (level: Level, proximal: PerToken, sampler: PerToken) => {
  const distance = sub(proximal, sampler)
  return named("w", level === "token" ? exp(distance) : exp(sum(distance)))
}

/**
 * min(w, cap)·PPO(ℓ, π), with w = e^(π − q) per token or for the whole sequence. Truncated importance sampling (TIS), for a sampler that
 * differs from the trainer in numerics or age. Defaults: per token, cap 2, clip bounds 0.8 and 1.2.
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
 * w·1[low ≤ w ≤ high]·PPO(ℓ, π), with w = e^(π − q) per token or for the whole sequence. Masked importance sampling (MIS): tokens for which
 * sampler and proximal policy differ too much are not trained on. Defaults: whole sequence, low 0, high 3, clip bounds 0.8 and 1.2.
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
 * e^(π − q)·PPO(ℓ, π), with π = sg(q + α(ℓ − q)). The proximal policy is interpolated between sampler and current policy in proportion to
 * their ages, so it needs no forward pass; `interpolation` computes α. Decoupled PPO (AReaL, arXiv:2505.24298) with the log-linear
 * approximation. Default clip bounds: 0.8 and 1.2.
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
 * α per token for `decoupled`: (v − 1 − b) / (v − b), limited to [0, 1], where v is the current version and b the version that sampled the
 * token. 0 for tokens of the current version, and for b < 0, which marks tokens that were not sampled.
 */
export const interpolation = (versionsT: ArrayLike<number>, current: number): Float32Array =>
  Float32Array.from(versionsT, (version) =>
    version < 0 || version >= current
      ? 0
      : Math.min(Math.max((current - 1 - version) / (current - version), 0), 1))

/** The extra inputs of `withObservations`: a mask of the tokens to imitate, and the token counts of the whole batch. */
export type ObservationExtras = {
  readonly observationMask: "token"
  readonly actionTokens: "sequence"
  readonly observationTokens: "sequence"
}

export interface ObservationOptions {
  /** Lower bound of the importance ratio. Default: 0.8. */
  readonly clipLow?: number
  /** Upper bound of the importance ratio. Default: 1.2. */
  readonly clipHigh?: number
  /** Weight of the cross entropy term. Default: 0.1. */
  readonly weight?: number
}

/**
 * RL on the action tokens plus cross entropy on the answers of tools and environments: Σ PPO / actionTokens − weight·Σ ℓ /
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

/**
 * Pairs each datum of a batch with its observation mask, shape `[T]`, and with the batch's counts of action and observation tokens, which
 * are at least 1.
 */
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
