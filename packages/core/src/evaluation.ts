/** Evaluators and the statistics of comparisons. Advanced. */

/** Evaluation by the log-likelihood of held-out examples. */
export * as NllEvaluator from "./supervised/NllEvaluator.ts"
/** Evaluation by held-out preferences. */
export * as PreferenceEvaluator from "./preference/PreferenceEvaluator.ts"
/** A share of successes with its 95 % confidence interval. */
export * as Proportion from "./evaluate/Proportion.ts"
/** pass@k: the probability that at least one of k attempts at a problem succeeds. */
export * as PassAtK from "./evaluate/PassAtK.ts"
/** Confidence intervals for a mean that are valid at every sample size simultaneously, so you may look at any time and stop. */
export * as ConfidenceSequence from "./evaluate/ConfidenceSequence.ts"
/** The difference between two methods, each trained with several seeds and scored on the same problems. */
export * as CrossedEffects from "./evaluate/CrossedEffects.ts"
/** Quantiles of Student's t distribution. */
export * as StudentT from "./evaluate/StudentT.ts"
/** Summary statistics of samples: means, variances, quantiles and standard errors. */
export * as Statistics from "./records/Statistics.ts"
/** The conclusion of a comparison, in words. */
export * as Verdict from "./report/Verdict.ts"
