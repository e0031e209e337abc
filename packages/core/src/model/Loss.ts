/**
 * The losses that a backend computes. Each loss with a published formula is a sum over tokens of L(lp), with ratio = exp(lp − q), where lp
 * is the token's current log-probability and q the sampler's.
 *
 * @example
 * training.forwardBackward(data, Loss.ppo({ clipHigh: 1.28 }))
 */
import type * as Datum from "./Datum.ts"

/** The wire names of the losses. */
export type Name =
  | "cross_entropy"
  | "importance_sampling"
  | "ppo"
  | "cispo"
  | "dro"
  | "gspo"
  | "stable_reinforce"

/** A loss with its datum kind `K` and its configuration under wire names. */
export interface Loss<out K extends Datum.Kind> {
  readonly kind: K
  readonly name: Name
  readonly config: Readonly<Record<string, number>>
}

/** Cross entropy against one target per position: L = −w·lp. */
export const crossEntropy: Loss<"WeightedTokens"> = { kind: "WeightedTokens", name: "cross_entropy", config: {} }

/** Cross entropy against soft targets: L = −Σₖ wₖ·lpₖ. */
export const crossEntropyCandidates: Loss<"WeightedCandidates"> = {
  kind: "WeightedCandidates",
  name: "cross_entropy",
  config: {}
}

/** Importance-weighted policy gradient: L = −ratio·A. */
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

/** L = −min(ratio·A, clip(ratio, clipLow, clipHigh)·A), with the bounds on the ratio itself. Defaults: 0.8 and 1.2. */
export const ppo = (config: Clip = {}) => clipped("ppo", config.clipLow ?? 0.8, config.clipHigh ?? 1.2)

/** L = −stopgrad(clip(ratio, clipLow, clipHigh))·lp·A. Default bounds: 0 and 4. */
export const cispo = (config: Clip = {}) => clipped("cispo", config.clipLow ?? 0, config.clipHigh ?? 4)

/**
 * L = −min(s·A, clip(s, clipLow, clipHigh)·A), with s = exp(mean(lp − q)) over the action tokens of the sequence. Each token has the
 * gradient that s would have as its own ratio: GSPO's token variant (arXiv:2507.18071). Default bounds: 0.9997 and 1.0004.
 */
export const gspo = (config: Clip = {}) => clipped("gspo", config.clipLow ?? 0.9997, config.clipHigh ?? 1.0004)

/** L = −(lp·A − β/2·(lp − q)²). Default β: 0.05. */
export const dro = (config: { readonly beta?: number } = {}): Loss<"PolicyTokens"> => ({
  kind: "PolicyTokens",
  name: "dro",
  config: { beta: config.beta ?? 0.05 }
})

/**
 * A loss of the hosted service whose formula is not published. It reads what the service recorded when it sampled with
 * `recordStabilityInfo`, so the datums need their `provenance`. Default `klCoeff`: 0.
 */
export const stableReinforce = (config: { readonly klCoeff?: number } = {}): Loss<"PolicyTokens"> => ({
  kind: "PolicyTokens",
  name: "stable_reinforce",
  config: { kl_coeff: config.klCoeff ?? 0 }
})
