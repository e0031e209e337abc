/** How far the policy that is trained is from the policy that sampled. */
import type * as Datum from "../model/Datum.ts"
import type { IsClipped, Objective } from "./Objective.ts"
import * as Statistics from "./Statistics.ts"

/** Sums over the action tokens that have both log-probabilities. */
class Sums {
  /** All action tokens. */
  tokens = 0
  known = 0
  clipped = 0
  difference = 0
  squaredDifference = 0
  surprise = 0
  ratio = 0
  squaredRatio = 0
  largestRatio = -Infinity

  add(
    { advantages, logprobs, mask }: Datum.Inputs["PolicyTokens"],
    trainedT: Float32Array,
    isClipped: IsClipped | undefined
  ) {
    for (let t = 0; t < mask.length; t++) {
      if (mask[t] === 0) continue
      this.tokens++
      const sampled = logprobs[t] ?? NaN
      const difference = sampled - (trainedT[t] ?? NaN)
      if (Number.isNaN(difference)) continue
      const ratio = Math.exp(-difference)
      this.known++
      this.difference += difference
      this.squaredDifference += difference * difference
      this.surprise -= sampled
      this.ratio += ratio
      this.squaredRatio += ratio * ratio
      if (ratio > this.largestRatio) this.largestRatio = ratio
      if (isClipped?.(ratio, advantages[t] ?? 0) === true) this.clipped++
    }
  }
}

const none = new Float32Array(0)

/**
 * Over action tokens, with q the sampler's and p the trainer's log-probability and ratio = exp(p − q):
 *
 * - `kl_sample_train_v1` mean of q − p; `kl_sample_train_v2` half the mean of (q − p)²; `entropy` mean of −q
 * - `ratio_mean`, `ratio_max`; `effective_sample_size` (Σ ratio)² / (n·Σ ratio²), 1 where nothing moved
 * - `clipped_share` of the tokens whose ratio the loss clips, for losses that clip
 * - `action_tokens` their number; `missing_logprobs` how many were left out for want of a log-probability, where any
 */
export const measure = (
  data: ReadonlyArray<Datum.Datum<"PolicyTokens">>,
  trainingLogprobs: ReadonlyArray<Float32Array>,
  { isClipped }: Pick<Objective, "isClipped">
): Record<string, number | undefined> => {
  const sums = new Sums()
  data.forEach(({ inputs }, index) => sums.add(inputs, trainingLogprobs[index] ?? none, isClipped))
  const { known, ratio, squaredRatio, tokens } = sums
  const spread = Number.isFinite(squaredRatio) ? known * squaredRatio : 0
  return {
    action_tokens: tokens,
    missing_logprobs: tokens > known ? tokens - known : undefined,
    kl_sample_train_v1: Statistics.ratio(sums.difference, known),
    kl_sample_train_v2: Statistics.ratio(sums.squaredDifference, 2 * known),
    entropy: Statistics.ratio(sums.surprise, known),
    ratio_mean: Statistics.ratio(ratio, known),
    ratio_max: known > 0 ? sums.largestRatio : undefined,
    effective_sample_size: Statistics.ratio(ratio ** 2, spread),
    clipped_share: isClipped && Statistics.ratio(sums.clipped, known)
  }
}
