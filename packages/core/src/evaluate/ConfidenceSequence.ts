/** Intervals for a mean that hold at every number of observations at once, so that it is valid to look at any time and stop. */

export interface Interval {
  readonly low: number
  readonly high: number
}

/** The range of the observations and the error probability. */
export interface Options {
  /** All observations lie between these. */
  readonly least: number
  readonly most: number
  /** The probability that any of the intervals misses the mean; default 0.05. */
  readonly alpha?: number
}

/** ψ of the empirical Bernstein bound. */
const psi = (lambda: number) => (-Math.log1p(-lambda) - lambda) / 4

/**
 * After each observation an interval for the mean, each inside the one before: with probability 1 − alpha all of them contain the mean.
 * Observations must come in an order that does not depend on them.
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
  // Means of the values so far, with one imagined value in the middle.
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
