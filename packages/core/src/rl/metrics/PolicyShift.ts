/** The distance between the trained policy and the policy that sampled. */
import type * as Datum from "../../model/Datum.ts"
import * as Statistics from "../../records/Statistics.ts"
import type { LogprobsOf } from "../../run/Answers.ts"
import type { IsClipped, Objective } from "../Objective.ts"

/** Where the ranges of the ratio and of the depth of context begin; each ends where the next one begins. */
const ratioEdges = [0, 0.5, 0.8, 0.95, 1.05, 1.25, 2]
const depthEdges = [0, 1024, 4096, 16_384, 65_536]

/** The last edge that a value has reached. */
const edgeOf = (edges: ReadonlyArray<number>, value: number) => edges.findLastIndex((edge) => value >= edge)

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
  readonly ratios = ratioEdges.map(() => 0)
  /** Sums by depth. */
  readonly depths = depthEdges.map(() => ({ tokens: 0, differences: 0, squares: 0, ratios: 0 }))
  /** The logarithm of each sequence's ratio. */
  readonly sequences: Array<number> = []

  add(
    { advantages, logprobs, mask }: Datum.Inputs["PolicyTokens"],
    trainedT: Float32Array,
    isClipped: IsClipped | undefined
  ) {
    let logRatio = 0
    for (let t = 0; t < mask.length; t++) {
      if (mask[t] === 0) continue
      this.tokens++
      const sampled = logprobs[t] ?? NaN
      const difference = sampled - (trainedT[t] ?? NaN)
      if (Number.isNaN(difference)) continue
      const ratio = Math.exp(-difference)
      logRatio -= difference
      this.known++
      this.difference += difference
      this.squaredDifference += difference * difference
      this.surprise -= sampled
      this.ratio += ratio
      this.squaredRatio += ratio * ratio
      if (ratio > this.largestRatio) this.largestRatio = ratio
      if (isClipped?.(ratio, advantages[t] ?? 0) === true) this.clipped++
      this.count(t, ratio, difference)
    }
    this.sequences.push(logRatio)
  }

  private count(position: number, ratio: number, difference: number) {
    const range = edgeOf(ratioEdges, ratio)
    this.ratios[range] = (this.ratios[range] ?? 0) + 1
    const depth = this.depths[edgeOf(depthEdges, position)]
    if (depth === undefined) return
    depth.tokens++
    depth.differences += difference
    depth.squares += difference * difference
    depth.ratios += ratio
  }
}

const none = new Float32Array(0)

/** (Σ w)² / (n·Σ w²) with w = exp of the values, which are taken relative to the largest. */
const effectiveSize = (logWeights: ReadonlyArray<number>) => {
  const largest = logWeights.reduce((most, value) => Math.max(most, value), -Infinity)
  if (!Number.isFinite(largest)) return undefined
  const weights = logWeights.map((value) => Math.exp(value - largest))
  const squares = Statistics.sum(weights.map((weight) => weight * weight))
  return Statistics.ratio(Statistics.sum(weights) ** 2, weights.length * squares)
}

/** Reports only ranges that have tokens, and depths only if there are several. */
const histograms = ({ depths, known, ratios }: Sums): Record<string, number | undefined> => {
  const reached = depths.map((sums, index) => ({ ...sums, edge: depthEdges[index] })).filter(({ tokens }) => tokens > 0)
  const byDepth = reached.flatMap(({ differences, edge, ratios, squares, tokens }) => [
    [`kl_by_depth/${edge}`, squares / (2 * tokens)] as const,
    [`kl_v1_by_depth/${edge}`, differences / tokens] as const,
    [`kl_k3_by_depth/${edge}`, (ratios - tokens + differences) / tokens] as const
  ])
  return {
    ...Object.fromEntries(
      ratios.flatMap((count, index) => count === 0 ? [] : [[`ratio_share/${ratioEdges[index]}`, count / known]])
    ),
    ...(reached.length > 1 ? Object.fromEntries(byDepth) : {})
  }
}

/**
 * Over action tokens, with q the sampler's and p the trainer's log-probability and ratio = exp(p − q):
 *
 * - `kl_sample_train_v1` mean of q − p; `kl_sample_train_v2` half the mean of (q − p)²; `kl_sample_train_k3` mean of ratio − 1 − (p − q);
 *   `entropy` mean of −q
 * - `ratio_mean`, `ratio_max`; `effective_sample_size` (Σ ratio)² / (n·Σ ratio²), 1 where nothing moved, and
 *   `effective_sample_size_sequences` the same over datums, with the product of each datum's ratios
 * - `ratio_share/a` of the tokens whose ratio lies between a and the next edge; `kl_by_depth/a` the second estimate for tokens from
 *   position a of their datum to the next edge, `kl_v1_by_depth/a` the first and `kl_k3_by_depth/a` the third
 * - `clipped_share` of the tokens whose ratio the loss clips, for losses that clip
 * - `action_tokens` their number; `missing_logprobs` how many tokens were left out because they have no log-probability, if any
 */
export const measure = (
  data: ReadonlyArray<Datum.Datum<"PolicyTokens">>,
  trainedLogprobsOf: LogprobsOf,
  { isClipped }: Pick<Objective, "isClipped">
): Record<string, number | undefined> => {
  const sums = new Sums()
  for (const datum of data) sums.add(datum.inputs, trainedLogprobsOf(datum) ?? none, isClipped)
  const { difference, known, ratio, squaredRatio, tokens } = sums
  const spread = Number.isFinite(squaredRatio) ? known * squaredRatio : 0
  return {
    action_tokens: tokens,
    missing_logprobs: tokens > known ? tokens - known : undefined,
    kl_sample_train_v1: Statistics.ratio(difference, known),
    kl_sample_train_v2: Statistics.ratio(sums.squaredDifference, 2 * known),
    kl_sample_train_k3: Statistics.ratio(ratio - known + difference, known),
    entropy: Statistics.ratio(sums.surprise, known),
    ratio_mean: Statistics.ratio(ratio, known),
    ratio_max: known > 0 ? sums.largestRatio : undefined,
    effective_sample_size: Statistics.ratio(ratio ** 2, spread),
    effective_sample_size_sequences: known === 0 ? undefined : effectiveSize(sums.sequences),
    clipped_share: isClipped && Statistics.ratio(sums.clipped, known),
    ...histograms(sums)
  }
}
