/** Ratios of probabilities that policy losses share. */
import { clamp, exp, minimum, mul, named, neg, sub, type Term } from "./LossTerm.ts"

export type PerToken = Term<"token", "number">
export type PerSequence = Term<"sequence", "number">

/** d = ℓ − q: how much likelier a token is now than it was for the sampler. */
export const logRatio = (logprobs: PerToken, samplerLogprobs: PerToken): PerToken =>
  named("d_t", sub(logprobs, samplerLogprobs))

/** ρ = eᵈ. */
export const ratio = (logprobs: PerToken, samplerLogprobs: PerToken): PerToken =>
  named("\\rho_t", exp(logRatio(logprobs, samplerLogprobs)))

/** −min(r·A, clip(r)·A): the clipped objective of PPO for any ratio. */
export const clippedObjective = (
  ratio: PerToken,
  advantages: PerToken,
  low: PerSequence,
  high: PerSequence
): PerToken => neg(minimum(mul(ratio, advantages), mul(clamp(ratio, { low, high }), advantages)))
