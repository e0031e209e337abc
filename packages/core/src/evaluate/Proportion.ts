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

/** Wilson's interval for `successes` of `trials`: it stays inside [0, 1] and keeps a width at 0 and 1. */
export const wilson = (successes: number, trials: number): Proportion =>
  trials === 0 ? { value: NaN, low: 0, high: 1 } : interval(successes / trials, trials)

/**
 * The mean of shares, one for each of several clusters. Wilson's interval for the effective number of trials, p·(1 − p) / SE², where SE
 * is the standard error of the shares: at most `trials`, and the number of clusters where all shares are 0 or all are 1, because the
 * similarity of a cluster's trials is then unknown.
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

/** The mean share of successes over clusters, such as several attempts at each problem; see `ofShares`. */
export const clustered = (clusters: ReadonlyArray<ReadonlyArray<boolean>>): Proportion =>
  ofShares(
    clusters.map((verdicts) => verdicts.filter(Boolean).length / verdicts.length),
    clusters.flat().length
  )
