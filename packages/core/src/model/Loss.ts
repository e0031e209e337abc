/**
 * The losses a backend computes, each a sum over tokens of L(lp) with ratio = exp(lp − q), q the sampler's log-probability.
 *
 * @example
 * training.forwardBackward(data, Loss.ppo({ clipHigh: 1.28 }))
 */
import type * as Datum from "./Datum.ts"

/** The names of losses on the wire. */
export type Name =
  | "cross_entropy"
  | "importance_sampling"
  | "ppo"
  | "cispo"
  | "dro"
  | "gspo"
  | "stable_reinforce"

/** A loss, the datum kinds it reads and its resolved configuration under the wire's names. */
export interface Loss<out K extends Datum.Kind> {
  readonly kind: K
  readonly name: Name
  readonly config: Readonly<Record<string, number>>
}

/** L = −w·lp. */
export const crossEntropy: Loss<"WeightedTokens"> = { kind: "WeightedTokens", name: "cross_entropy", config: {} }

/** L = −Σₖ wₖ·lpₖ: cross entropy against soft targets. */
export const crossEntropyCandidates: Loss<"WeightedCandidates"> = {
  kind: "WeightedCandidates",
  name: "cross_entropy",
  config: {}
}

/** L = −ratio·A. */
export const importanceSampling: Loss<"PolicyTokens"> = {
  kind: "PolicyTokens",
  name: "importance_sampling",
  config: {}
}

interface Clip {
  readonly clipLow?: number
  readonly clipHigh?: number
}

const clipped = (name: "ppo" | "cispo" | "gspo", low: number, high: number): Loss<"PolicyTokens"> => ({
  kind: "PolicyTokens",
  name,
  config: { clip_low_threshold: low, clip_high_threshold: high }
})

/** L = −min(ratio·A, clip(ratio, clipLow, clipHigh)·A); the bounds are on the ratio itself, 0.8 and 1.2. */
export const ppo = (config: Clip = {}) => clipped("ppo", config.clipLow ?? 0.8, config.clipHigh ?? 1.2)

/** L = −stopgrad(clip(ratio, clipLow, clipHigh))·lp·A; bounds 0 and 4. */
export const cispo = (config: Clip = {}) => clipped("cispo", config.clipLow ?? 0, config.clipHigh ?? 4)

/**
 * L = −min(s·A, clip(s, clipLow, clipHigh)·A) with s = exp(mean(lp − q)) over the action tokens of the sequence, whose gradient each
 * token takes as its own ratio's; bounds 0.9997 and 1.0004. GSPO's token variant (arXiv:2507.18071).
 */
export const gspo = (config: Clip = {}) => clipped("gspo", config.clipLow ?? 0.9997, config.clipHigh ?? 1.0004)

/** L = −(lp·A − β/2·(lp − q)²); β 0.05. */
export const dro = (config: { readonly beta?: number } = {}): Loss<"PolicyTokens"> => ({
  kind: "PolicyTokens",
  name: "dro",
  config: { beta: config.beta ?? 0.05 }
})

/**
 * A loss of the hosted service, whose formula is not published. It reads what the service recorded when it sampled with
 * `recordStabilityInfo`, so datums need their `provenance`; `klCoeff` 0.
 */
export const stableReinforce = (config: { readonly klCoeff?: number } = {}): Loss<"PolicyTokens"> => ({
  kind: "PolicyTokens",
  name: "stable_reinforce",
  config: { kl_coeff: config.klCoeff ?? 0 }
})
