/** Valid log-probabilities in a service's answers. */

/** Rounding on the way from half precision makes a certain token a little more than certain. */
const rounding = 1e-3

/** The expectation, in words. */
export const expected = "expected a finite number that is not above 0"

/** Whether the log-probability of a sampled token is valid. */
export const isFinite = (logprob: number) => logprob > -Infinity && logprob <= rounding

/** Whether the log-probability of any token is valid: −∞ is, for a token that cannot be sampled. */
export const isKnown = (logprob: number) => logprob <= rounding

/** Whether the log-probability of a prompt's token is valid: NaN is, for a token that has none. */
export const isKnownOrMissing = (logprob: number) => Number.isNaN(logprob) || isKnown(logprob)
