/** The signal of groups: whether their rewards say which tokens were better. */
import * as GroupResult from "../rollout/GroupResult.ts"

/** A group whose members' rewards differ; `partition` alone makes one. */
class InformativeGroup {
  /** Makes the type nominal: a group that merely looks like one is not. */
  protected readonly brand = "InformativeGroup"
  readonly group: GroupResult.Group

  constructor(group: GroupResult.Group) {
    this.group = group
  }
}

export type { InformativeGroup }

/** Every group once, each list in the order of the results. */
export interface Partition {
  readonly informative: ReadonlyArray<InformativeGroup>
  /** Nothing to compare: all rewards are equal, or fewer than two members are left. */
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
 * Tells informative groups from the others.
 *
 * @see tinker-cookbook `remove_constant_reward_groups`
 */
export const partition = (results: ReadonlyArray<GroupResult.GroupResult>): Partition => {
  const groups = results.filter((result) => !GroupResult.isSkipped(result))
  return {
    informative: groups.filter(isInformative).map((group) => new InformativeGroup(group)),
    constant: groups.filter(isConstant),
    skipped: results.filter(GroupResult.isSkipped)
  }
}
