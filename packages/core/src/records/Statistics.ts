/**
 * Summary statistics of samples.
 *
 * @example
 * const scores = [0.5, 1, 0.25]
 * const standardError = Math.sqrt(Statistics.variance(scores) / scores.length)
 */

/** An ordered sequence of numbers: an array or a typed array. */
export interface Values extends Iterable<number> {
  readonly length: number
}

/** The sum; 0 without values. */
export const sum = (values: Iterable<number>): number => {
  let total = 0
  for (const value of values) total += value
  return total
}

/** The quotient; undefined if the denominator is 0. */
export const ratio = (numerator: number, denominator: number): number | undefined =>
  denominator === 0 ? undefined : numerator / denominator

/** The mean; NaN without values. */
export const mean = (values: Values): number => sum(values) / values.length

/** The sum of squared deviations, Σ(x − mean)²; 0 without values. */
export const squaredDeviations = (values: Values): number => {
  const center = mean(values)
  let total = 0
  for (const value of values) total += (value - center) ** 2
  return total
}

/** The unbiased sample variance, Σ(x − mean)² / (n − 1); NaN for a single value. */
export const variance = (values: Values): number => squaredDeviations(values) / (values.length - 1)

/** The q-quantile for `q` from 0 to 1, by linear interpolation between the two closest ranks; undefined without values. */
export const quantile = (values: ReadonlyArray<number>, q: number): number | undefined => {
  const sorted = values.toSorted((left, right) => left - right)
  const rank = q * (sorted.length - 1)
  const below = sorted[Math.floor(rank)]
  const above = sorted[Math.ceil(rank)]
  return below === undefined || above === undefined ? undefined : below + (above - below) * (rank - Math.floor(rank))
}

/**
 * The standard error of the mean over all members, clustered by group: √(n/(n−1)·Σ_g (Σ_i r_gi − n_g·r̄)²) / N. For groups of equal size it
 * equals the standard error of the group means. Undefined for fewer than two groups, or without members.
 */
export const clusteredStandardError = (groups: ReadonlyArray<ReadonlyArray<number>>): number | undefined => {
  const count = groups.length
  const members = sum(groups.map((group) => group.length))
  const average = ratio(sum(groups.map(sum)), members)
  if (count < 2 || average === undefined) return undefined
  const squares = sum(groups.map((group) => (sum(group) - group.length * average) ** 2))
  return Math.sqrt((count / (count - 1)) * squares) / members
}

/** The 95 % confidence interval of a mean with the given standard error, by the normal approximation. */
export const interval = (mean: number, standardError: number): { readonly low: number; readonly high: number } => {
  const half = 1.959963984540054 * standardError
  return { low: mean - half, high: mean + half }
}

/** A mean reward as records have it: the standard error, and the bounds of an interval that is known to be another one. */
interface MeanReward {
  readonly mean: number | null
  readonly standardError?: number | null
  readonly low?: number | null
  readonly high?: number | null
}

/** The 95 % interval of a mean reward: the recorded one, or else that of its standard error. Undefined if neither is known. */
export const rewardInterval = (
  { high, low, mean, standardError }: MeanReward
): { readonly low: number; readonly high: number } | undefined => {
  if (typeof low === "number" && typeof high === "number") return { low, high }
  return typeof mean === "number" && typeof standardError === "number" ? interval(mean, standardError) : undefined
}
