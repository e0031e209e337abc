/**
 * Credit: what an update trains on, made of the groups that were rolled out.
 *
 * @example
 * Rl.run({ model, dataset, update: { credit: Credit.groupRelative(Advantage.leaveOneOut) } })
 */
export type { Assigned, Credit, GroupCredit, Traits, Verdict } from "./credit/Assigned.ts"
export * from "./credit/BatchRelative.ts"
export * from "./credit/ByTag.ts"
export * from "./credit/Distill.ts"
export type { OtherPrompt } from "./credit/Gap.ts"
export * from "./credit/GroupRelative.ts"
export * from "./credit/KlPenalty.ts"
export * from "./credit/RoleRelative.ts"
export * from "./credit/Shaped.ts"
export * from "./credit/Shrinkage.ts"
