/**
 * Credit: converts rolled-out groups to the data that an update trains on.
 *
 * @example
 * Rl.run({ model, dataset, update: { credit: Credit.groupRelative(Advantage.leaveOneOut) } })
 */
export { adaptiveEntropy, type AdaptiveEntropyOptions } from "./credit/Entropy.ts"
export type { Assigned, Credit, GroupCredit, RoleOptions, Traits, Verdict } from "./credit/FromRewards.ts"
export {
  batchRelative,
  byTag,
  everyGroup,
  groupRelative,
  identityOf,
  roleRelative,
  shrinkage
} from "./credit/FromRewards.ts"
export { distill, type DistillOptions, klPenalty, type Models, type OtherPrompt } from "./credit/FromWeights.ts"
export * from "./credit/Shaped.ts"
export { trailing } from "./credit/Trailing.ts"
export { CreditError } from "./CreditError.ts"
