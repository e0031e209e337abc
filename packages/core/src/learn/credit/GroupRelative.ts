/** Credit relative to the group. */
import * as Effect from "effect/Effect"
import type * as Advantage from "../Advantage.ts"
import { type Credit, credited, orConstant, traitsOf } from "./Assigned.ts"

/**
 * Credit relative to the group, by an advantage estimator. A group whose rewards are all equal, or whose advantages are all 0, says
 * nothing about which tokens were better: it gives no datums, and an iteration without an informative group takes no optimizer step.
 *
 * @example
 * const credit = Credit.groupRelative(Advantage.leaveOneOut)
 *
 * @see tinker-cookbook `remove_constant_reward_groups`, `assemble_training_data`
 */
export const groupRelative = (estimator: Advantage.Estimator): Credit => ({
  name: "group_relative",
  config: { estimator: estimator.name, ...estimator.config },
  ...traitsOf(estimator),
  isByGroup: true,
  assign: (groups, memory) =>
    Effect.sync(() => ({ groups: credited(groups, "members", estimator).map(orConstant), metrics: {}, memory }))
})
