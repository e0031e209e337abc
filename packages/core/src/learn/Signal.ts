/** Separates the groups whose rewards can be compared from those that give nothing to train on. */
import * as GroupResult from "../rollout/GroupResult.ts"

/** A group with something to compare, in the sense of `Source`. Only this module can create one. */
class InformativeGroup {
  /** Makes the type nominal: an object with the same fields is not an informative group. */
  protected readonly brand = "InformativeGroup"
  readonly _tag = "Informative"
  readonly group: GroupResult.Finished

  constructor(group: GroupResult.Finished) {
    this.group = group
  }
}

export type { InformativeGroup }

/** A group with nothing to compare: all compared rewards (see `Source`) are equal, or fewer than two members remain. */
export interface ConstantGroup {
  readonly _tag: "Constant"
  readonly group: GroupResult.Finished
  /** Explanation of why there is nothing to compare. */
  readonly reason: string
}

/** The signal of one group: informative, constant or skipped. */
export type Signal = InformativeGroup | ConstantGroup | GroupResult.Skipped

const rewardsOf = (group: GroupResult.Group) => GroupResult.survivors(group).map(([member]) => group.rewardsG[member])

const differ = (rewards: ReadonlyArray<number | undefined>) => rewards.some((reward) => reward !== rewards[0])

/** Whether the rewards of the remaining members differ, compared exactly as float64. */
export const isInformative = (group: GroupResult.Group): boolean => differ(rewardsOf(group))

/**
 * Which rewards are compared: `members` compares those of the members of each group, and `batch` those of all members of all groups.
 * `tokens` is for credit that judges each token separately; every group that has members is then informative.
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
 * The signal of each group, in order.
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
 * The informative groups, in order.
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
