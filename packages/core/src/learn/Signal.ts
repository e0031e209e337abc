/** The signal of groups: whether their rewards say which tokens were better. */
import * as GroupResult from "../rollout/GroupResult.ts"

/** A group whose rewards say which tokens were better; only this module makes one. */
class InformativeGroup {
  /** Makes the type nominal: a group that merely looks like one is not. */
  protected readonly brand = "InformativeGroup"
  readonly _tag = "Informative"
  readonly group: GroupResult.Finished

  constructor(group: GroupResult.Finished) {
    this.group = group
  }
}

export type { InformativeGroup }

/** A group with nothing to compare: all rewards are equal, or fewer than two members of a group are left. */
export interface ConstantGroup {
  readonly _tag: "Constant"
  readonly group: GroupResult.Finished
  /** Why there is nothing to compare, in words. */
  readonly reason: string
}

/** The signal of one group. */
export type Signal = InformativeGroup | ConstantGroup | GroupResult.Skipped

const rewardsOf = (group: GroupResult.Group) => GroupResult.survivors(group).map(([member]) => group.rewardsG[member])

const differ = (rewards: ReadonlyArray<number | undefined>) => rewards.some((reward) => reward !== rewards[0])

/** Whether the members' rewards differ, by exact equality of the survivors' float64 rewards. */
export const isInformative = (group: GroupResult.Group): boolean => differ(rewardsOf(group))

/**
 * Where a group's signal comes from: `members` compares the members of each group, `batch` compares all members of all groups, and
 * `tokens` is for credit that judges each token by itself, for which every group that has members is informative.
 */
export type Source = "members" | "batch" | "tokens"

const rule = (
  source: Source,
  results: ReadonlyArray<GroupResult.GroupResult>
): (group: GroupResult.Group) => boolean => {
  if (source === "members") return isInformative
  const informs = source === "tokens" ||
    differ(results.flatMap((result) => GroupResult.isSkipped(result) ? [] : rewardsOf(result)))
  return () => informs
}

/**
 * The signal of each group, in their order.
 *
 * @example
 * const [signal] = Signal.each([group])
 * const advantages = signal?._tag === "Informative" ? Advantage.centered.of(signal) : []
 */
export const each = (
  results: ReadonlyArray<GroupResult.GroupResult>,
  source: Source = "members"
): ReadonlyArray<Signal> => {
  const informs = rule(source, results)
  return results.map((result) => {
    if (GroupResult.isSkipped(result)) return result
    if (informs(result)) return new InformativeGroup(result)
    const reason = rewardsOf(result).length > 1 ? "all rewards are equal" : "one member has nothing to be compared with"
    return { _tag: "Constant", group: result, reason }
  })
}

/**
 * The informative groups, in their order.
 *
 * @example
 * const data = Signal.informative([group]).flatMap((group) => TrainingData.assemble(group, Advantage.centered).data)
 *
 * @see tinker-cookbook `remove_constant_reward_groups`
 */
export const informative = (
  results: ReadonlyArray<GroupResult.GroupResult>,
  source: Source = "members"
): ReadonlyArray<InformativeGroup> =>
  each(results, source).flatMap((signal) => signal._tag === "Informative" ? [signal] : [])
