/**
 * Student's t distribution.
 *
 * @example
 * const scores = [0.5, 1, 0.25]
 * const half = StudentT.quantile(scores.length - 1) * Math.sqrt(Statistics.variance(scores) / scores.length)
 */

/** ln t in powers of 1/freedom: the polynomial that meets the exact quantiles at six Chebyshev points of 0 < 1/freedom < 1. */
const coefficients = [0.672926, 1.210404, 0.705643, 0.173711, -0.324468, 0.103893]

/**
 * The 97.5 % quantile: half of a 95 % interval in standard errors. `freedom` is at least 1 and need not be whole; the relative error is
 * below 0.002 %.
 */
export const quantile = (freedom: number): number =>
  Math.exp(coefficients.reduceRight((sum, coefficient) => sum / freedom + coefficient, 0))
