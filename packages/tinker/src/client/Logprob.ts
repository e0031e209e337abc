/** Valid log-probabilities in a service's answers. */

/** Rounding on the way from half precision makes a certain token a little more than certain. */
const rounding = 1e-3

/** The expectation, in words. */
export const expected = "expected a finite number that is not above 0"

/** Of a token that was sampled. */
export const isFinite = (logprob: number) => logprob > -Infinity && logprob <= rounding

/** Of any token: one that cannot be sampled has −∞. */
export const isKnown = (logprob: number) => logprob <= rounding

/** Of a prompt's token: NaN where it has none. */
export const isKnownOrMissing = (logprob: number) => Number.isNaN(logprob) || isKnown(logprob)
