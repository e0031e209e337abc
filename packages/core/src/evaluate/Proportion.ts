/**
 * A share of successes with its 95 % confidence interval.
 *
 * @example
 * const { high, low, value } = Proportion.wilson(88, 100)
 */
import * as Statistics from "../records/Statistics.ts"

export interface Proportion {
  readonly value: number
  readonly low: number
  readonly high: number
}

const z = 1.959963984540054

const interval = (value: number, trials: number): Proportion => {
  const spread = z * Math.sqrt((value * (1 - value)) / trials + (z * z) / (4 * trials * trials))
  const scale = 1 + (z * z) / trials
  const centre = value + (z * z) / (2 * trials)
  const [low, high] = [(centre - spread) / scale, (centre + spread) / scale]
  return { value, low: Math.min(value, Math.max(0, low)), high: Math.max(value, Math.min(1, high)) }
}

/**
 * Wilson's interval for `successes` out of `trials`. It stays inside [0, 1], and its width is positive even for 0 or `trials` successes.
 * Without trials, the value is NaN and the interval [0, 1].
 */
export const wilson = (successes: number, trials: number): Proportion =>
  trials === 0 ? { value: NaN, low: 0, high: 1 } : interval(successes / trials, trials)

/**
 * The mean of the clusters' shares, with Wilson's interval. The interval uses the effective number of trials, p·(1 − p) / SE², where SE is
 * the standard error of the shares, but at most `trials`. If all shares are 0 or all are 1, the similarity of trials within a cluster is
 * unknown, and the number of clusters is used instead. With fewer than two clusters, the interval is [0, 1].
 *
 * @see Korn and Graubard 1998, "Confidence intervals for proportions with small expected number of positive counts"
 */
export const ofShares = (shares: ReadonlyArray<number>, trials: number): Proportion => {
  const value = Statistics.mean(shares)
  if (shares.length < 2) return { value, low: 0, high: 1 }
  if (value === 0 || value === 1) return interval(value, shares.length)
  const variance = Statistics.variance(shares) / shares.length
  return interval(value, Math.min(trials, (value * (1 - value)) / variance))
}

/** The mean share of successes over clusters, where a cluster is, for example, several attempts at one problem; see `ofShares`. */
export const clustered = (clusters: ReadonlyArray<ReadonlyArray<boolean>>): Proportion =>
  ofShares(
    clusters.map((verdicts) => verdicts.filter(Boolean).length / verdicts.length),
    clusters.flat().length
  )
