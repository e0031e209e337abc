/**
 * Confidence intervals for a mean that hold simultaneously for every number of observations, so it is valid to look at the results at any
 * time and stop.
 */

export interface Interval {
  readonly low: number
  readonly high: number
}

/** The range of the observations, and the probability of an error. */
export interface Options {
  /** The lower bound of the observations. `most` is the upper bound. */
  readonly least: number
  /** The upper bound of the observations. */
  readonly most: number
  /** Upper bound on the probability that any of the intervals misses the mean. Default: 0.05. */
  readonly alpha?: number
}

/** The function ψ of the empirical Bernstein bound. */
const psi = (lambda: number) => (-Math.log1p(-lambda) - lambda) / 4

/**
 * A confidence interval for the mean after each observation, each inside the previous one. With a probability of at least 1 − alpha, all of
 * them contain the mean. The order of the observations must not depend on their values.
 *
 * @example
 * const intervals = ConfidenceSequence.empiricalBernstein([1, 0, 1, 1], { least: 0, most: 1, alpha: 0.05 })
 *
 * @see Waudby-Smith and Ramdas 2023, "Estimating means of bounded random variables by betting" (arXiv:2010.09686), theorem 2
 */
export const empiricalBernstein = (
  values: ReadonlyArray<number>,
  { alpha = 0.05, least, most }: Options
): ReadonlyArray<Interval> => {
  const log = Math.log(2 / alpha)
  let [weights, weighted, spread] = [0, 0, 0]
  // Running mean and variance, regularised with one imaginary observation in the middle of the range.
  let [mean, squares] = [0.5, 0.25]
  let interval: Interval = { low: 0, high: 1 }
  return values.map((value, index) => {
    const scaled = (value - least) / (most - least)
    const seen = index + 1
    const lambda = Math.min(0.5, Math.sqrt((2 * log) / ((squares / seen) * seen * Math.log1p(seen))))
    weights += lambda
    weighted += lambda * scaled
    spread += 4 * (scaled - mean) ** 2 * psi(lambda)
    const before = mean
    mean += (scaled - mean) / (seen + 1)
    squares += (scaled - before) * (scaled - mean)
    const [center, width] = [weighted / weights, (log + spread) / weights]
    interval = {
      low: Math.max(interval.low, center - width),
      high: Math.min(interval.high, center + width)
    }
    return { low: least + interval.low * (most - least), high: least + interval.high * (most - least) }
  })
}
