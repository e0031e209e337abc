/** Validates log-probabilities in a service's answers. */

/** Tolerance above 0, because rounding from half precision can push the probability of a certain token slightly above 1. */
const rounding = 1e-3

/** The expected range, for error messages. */
export const expected = "expected a finite number that is not above 0"

/** Whether the log-probability of a sampled token is valid. */
export const isFinite = (logprob: number) => logprob > -Infinity && logprob <= rounding

/** Whether the log-probability of any token is valid; −∞ is valid for a token that cannot be sampled. */
export const isKnown = (logprob: number) => logprob <= rounding

/** Whether the log-probability of a prompt token is valid; NaN is valid for a token without one. */
export const isKnownOrMissing = (logprob: number) => Number.isNaN(logprob) || isKnown(logprob)
