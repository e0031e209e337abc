/** Which groups say anything about which tokens were better. */
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

export interface Options {
  /** Keep the first constant group where no group is informative, as tinker-cookbook does; default false. */
  readonly constantFallbackSingleton?: boolean
}

const isConstant = (group: GroupResult.Group) => {
  const rewards = GroupResult.survivors(group).map(([member]) => group.rewardsG[member])
  return rewards.every((reward) => reward === rewards[0])
}

/**
 * Tells informative groups from the others by exact equality of the surviving members' float64 rewards.
 *
 * @see tinker-cookbook `remove_constant_reward_groups`
 */
export const partition = (results: ReadonlyArray<GroupResult.GroupResult>, options: Options = {}): Partition => {
  const groups = results.filter((result) => !GroupResult.isSkipped(result))
  const constant = groups.filter(isConstant)
  const kept = options.constantFallbackSingleton === true && constant.length === groups.length
    ? constant.slice(0, 1)
    : []
  const isKept = new Set(kept)
  return {
    informative: groups
      .filter((group) => isKept.has(group) || !isConstant(group))
      .map((group) => new InformativeGroup(group)),
    constant: constant.filter((group) => !isKept.has(group)),
    skipped: results.filter(GroupResult.isSkipped)
  }
}
