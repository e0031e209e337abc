/**
 * Credit: what an update trains on, made of the groups that were rolled out.
 *
 * @example
 * Rl.run({ model, dataset, update: { credit: Credit.groupRelative(Advantage.leaveOneOut) } })
 */
export { adaptiveEntropy, type AdaptiveEntropyOptions } from "./credit/Entropy.ts"
export type { Assigned, Credit, GroupCredit, RoleOptions, Traits, Verdict } from "./credit/FromRewards.ts"
export { batchRelative, byTag, everyGroup, groupRelative, roleRelative, shrinkage } from "./credit/FromRewards.ts"
export { distill, type DistillOptions, klPenalty, type OtherPrompt } from "./credit/FromWeights.ts"
export * from "./credit/Shaped.ts"
