/**
 * Student's t distribution.
 *
 * @example
 * const scores = [0.5, 1, 0.25]
 * const half = StudentT.quantile(scores.length - 1) * Math.sqrt(Statistics.variance(scores) / scores.length)
 */

/**
 * Coefficients of ln t in powers of 1/freedom. The polynomial equals the exact quantiles at six Chebyshev points with 0 < 1/freedom < 1.
 */
const coefficients = [0.672926, 1.210404, 0.705643, 0.173711, -0.324468, 0.103893]

/**
 * The 97.5 % quantile: half the width of a 95 % interval, in standard errors. `freedom` must be at least 1 and may be fractional. The
 * relative error is below 0.002 %.
 */
export const quantile = (freedom: number): number =>
  Math.exp(coefficients.reduceRight((sum, coefficient) => sum / freedom + coefficient, 0))
