/** The signal of groups: whether their rewards say which tokens were better. */
import * as GroupResult from "../rollout/GroupResult.ts"

/** A group whose rewards say which tokens were better; only `partition` makes one. */
class InformativeGroup {
  /** Makes the type nominal: a group that merely looks like one is not. */
  protected readonly brand = "InformativeGroup"
  readonly group: GroupResult.Group

  constructor(group: GroupResult.Group) {
    this.group = group
  }
}

export type { InformativeGroup }

/** The groups by their signal; each group is in one list, in the order of the results. */
export interface Partition {
  readonly informative: ReadonlyArray<InformativeGroup>
  /** Nothing to compare: all rewards are equal, or fewer than two members of a group are left. */
  readonly constant: ReadonlyArray<GroupResult.Group>
  readonly skipped: ReadonlyArray<GroupResult.Skipped>
}

const isConstant = (group: GroupResult.Group) => {
  const rewards = GroupResult.survivors(group).map(([member]) => group.rewardsG[member])
  return rewards.every((reward) => reward === rewards[0])
}

/** Whether the members' rewards differ, by exact equality of the survivors' float64 rewards. */
export const isInformative = (group: GroupResult.Group): boolean => !isConstant(group)

/**
 * Where a group's signal comes from: `members` compares the members of each group, `batch` compares all members of all groups, and
 * `tokens` is for credit that judges each token by itself, for which every group that has members is informative.
 */
export type Source = "members" | "batch" | "tokens"

const rule = (source: Source, groups: ReadonlyArray<GroupResult.Group>): (group: GroupResult.Group) => boolean => {
  if (source === "members") return isInformative
  const rewards = groups.flatMap((group) => GroupResult.survivors(group).map(([member]) => group.rewardsG[member]))
  const differ = source === "tokens" || rewards.some((reward) => reward !== rewards[0])
  return () => differ
}

/**
 * Tells informative groups from the others.
 *
 * @example
 * const { constant, informative, skipped } = Signal.partition([group])
 *
 * @see tinker-cookbook `remove_constant_reward_groups`
 */
export const partition = (results: ReadonlyArray<GroupResult.GroupResult>, source: Source = "members"): Partition => {
  const groups = results.filter((result) => !GroupResult.isSkipped(result))
  const informs = rule(source, groups)
  return {
    informative: groups.filter(informs).map((group) => new InformativeGroup(group)),
    constant: groups.filter((group) => !informs(group)),
    skipped: results.filter(GroupResult.isSkipped)
  }
}
