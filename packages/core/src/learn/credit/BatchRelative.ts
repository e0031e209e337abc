/** Credit relative to the batch. */
import * as Effect from "effect/Effect"
import * as Advantage from "../Advantage.ts"
import * as TokenAdvantages from "../TokenAdvantages.ts"
import { type Credit, credited, orConstant, traitsOf } from "./Assigned.ts"

/**
 * Credit relative to the batch: A = (a − mean(a)) / √(var(a) + 10⁻⁸) with a the estimator's advantage of a token, mean and variance
 * (divisor n − 1) over all trained tokens of all groups. With `Advantage.reward` this is REINFORCE++, with `Advantage.centered` its
 * variant with the group's mean as baseline (arXiv:2501.03262). Groups whose rewards are all equal are trained on as well, unless
 * those of the whole batch are.
 *
 * @see verl `compute_reinforce_plus_plus_outcome_advantage`
 */
export const batchRelative = (estimator: Advantage.Estimator = Advantage.reward): Credit => ({
  name: "batch_relative",
  config: { estimator: estimator.name, ...estimator.config },
  ...traitsOf(estimator),
  assign: (groups, memory) =>
    Effect.sync(() => ({
      groups: credited(groups, "batch", estimator, TokenAdvantages.whitening).map(orConstant),
      metrics: {},
      memory
    }))
})
