/** How far the policy that is trained is from the policy that sampled. */
import type * as Datum from "../model/Datum.ts"
import type * as Loss from "../model/Loss.ts"
import * as Statistics from "./Statistics.ts"

/** An action token under both policies. */
interface ActionToken {
  readonly sampled: number
  readonly trained: number
  readonly ratio: number
  readonly advantage: number
}

const actionTokens = function*(
  data: ReadonlyArray<Datum.Datum<"PolicyTokens">>,
  logprobs: ReadonlyArray<Float32Array>
) {
  for (const [index, { inputs }] of data.entries()) {
    for (const [t, counts] of inputs.mask.entries()) {
      if (counts === 0) continue
      const sampled = inputs.logprobs[t] ?? NaN
      const trained = logprobs[index]?.[t] ?? NaN
      const token: ActionToken = {
        sampled,
        trained,
        ratio: Math.exp(trained - sampled),
        advantage: inputs.advantages[t] ?? 0
      }
      yield token
    }
  }
}

/** Whether the loss uses the bound in place of the ratio. PPO does so only on the side where that lowers the objective. */
const clipper = (loss: Loss.Loss<"PolicyTokens">) => {
  const { clip_high_threshold: high, clip_low_threshold: low } = loss.config
  if (low === undefined || high === undefined) return undefined
  return loss.name === "ppo"
    ? ({ advantage, ratio }: ActionToken) => (advantage > 0 && ratio > high) || (advantage < 0 && ratio < low)
    : ({ ratio }: ActionToken) => ratio > high || ratio < low
}

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
  loss: Loss.Loss<"PolicyTokens">
): Record<string, number | undefined> => {
  const isClipped = clipper(loss)
  let all = 0
  let known = 0
  let clipped = 0
  let difference = 0
  let squaredDifference = 0
  let surprise = 0
  let ratio = 0
  let squaredRatio = 0
  let largestRatio = -Infinity
  for (const token of actionTokens(data, trainingLogprobs)) {
    all++
    if (Number.isNaN(token.ratio)) continue
    known++
    difference += token.sampled - token.trained
    squaredDifference += (token.sampled - token.trained) ** 2
    surprise -= token.sampled
    ratio += token.ratio
    squaredRatio += token.ratio ** 2
    largestRatio = Math.max(largestRatio, token.ratio)
    if (isClipped?.(token) === true) clipped++
  }
  return {
    action_tokens: all,
    missing_logprobs: all > known ? all - known : undefined,
    kl_sample_train_v1: Statistics.ratio(difference, known),
    kl_sample_train_v2: Statistics.ratio(squaredDifference, 2 * known),
    entropy: Statistics.ratio(surprise, known),
    ratio_mean: Statistics.ratio(ratio, known),
    ratio_max: known > 0 ? largestRatio : undefined,
    effective_sample_size: Number.isFinite(squaredRatio)
      ? Statistics.ratio(ratio ** 2, known * squaredRatio)
      : undefined,
    clipped_share: isClipped && Statistics.ratio(clipped, known)
  }
}
