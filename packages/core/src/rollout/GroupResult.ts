/** The result of rolling out a group. */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Trajectory from "../env/Trajectory.ts"
import type * as EnvMetric from "../records/EnvMetric.ts"
import * as Key from "../records/Key.ts"
import type { Score } from "../records/Score.ts"

/** The kinds of failure; see `FailurePolicy`. */
export const FailureTag = Schema.Literals([
  "AcquireFailed",
  "StepFailed",
  "GraderFailed",
  "Ungraded",
  "PolicyFailed",
  "HookFailed",
  "TimedOut",
  "Died"
])
export type FailureTag = typeof FailureTag.Type

/** A failure in the form used for counts and reports. */
export interface FailureReport {
  readonly member: number
  readonly attempt: number
  readonly failure: FailureTag
  readonly message: string
}

/** Fewer members finished than the failure policy requires. */
export interface BelowFloor {
  readonly failure: "BelowFloor"
  readonly finished: number
  readonly floor: number
  readonly message: string
}

/** When grading of the group began, since 1970, and how long it took; both in milliseconds. */
export interface GradingTime {
  readonly began: number
  readonly milliseconds: number
}

/**
 * A group that was rolled out. `members` are in order, with `None` for dropped members. `rewardsG` are the total rewards (steps plus group)
 * `[G]`, NaN for dropped members.
 */
export interface Group {
  /** The group's dataset batch; 0 if there is none. */
  readonly iteration: number
  readonly key: string
  readonly tags: ReadonlyArray<string>
  /** Optimizer steps of the weights that sampled the group. */
  readonly samplerStep: number
  readonly members: ReadonlyArray<Option.Option<Trajectory.Trajectory>>
  readonly rewardsG: Float64Array
  /** The score behind each member's group reward; absent if the group returned no scores. */
  readonly scoresG?: ReadonlyArray<Score | undefined>
  /** The metrics that the group's rewards reported, per member. */
  readonly metricsG: ReadonlyArray<EnvMetric.Metrics>
  /** Failed attempts that a retry replaced, in the order of members and attempts. */
  readonly retried: ReadonlyArray<FailureReport>
  /** The time of the group's grading; absent if it took less than a millisecond. */
  readonly grading?: GradingTime
}

/** A group in which every member finished. */
export interface Completed extends Group {
  readonly _tag: "Completed"
}

/** A group in which some members were dropped. */
export interface Partial extends Group {
  readonly _tag: "Partial"
  /** Failures of the dropped members, in member order. */
  readonly dropped: ReadonlyArray<FailureReport>
}

/** A group without rewards to compare. */
export interface Skipped {
  readonly _tag: "Skipped"
  readonly iteration: number
  readonly key: string
  readonly tags: ReadonlyArray<string>
  readonly size: number
  /** Why the group was skipped. If all members were dropped without a missed minimum, it is the first member's failure. */
  readonly reason: FailureReport | BelowFloor
  /** Failures of the members dropped before the group was skipped, in order; the other members were lost with the group. */
  readonly dropped: ReadonlyArray<FailureReport>
}

/**
 * The result of rolling out a group: all, some or none of its members count.
 *
 * @see tinker-cookbook `TrajectoryGroup`
 *
 * @example
 * const share = (result: GroupResult.GroupResult) =>
 *   GroupResult.isSkipped(result) ? 0 : GroupResult.survivors(result).length / result.members.length
 */
export type GroupResult = Completed | Partial | Skipped

/** A group with finished members, and thus with rewards to compare. */
export type Finished = Completed | Partial

/** The group's unique name within its run. Data derived from the group are joined by this name. */
export const idOf = ({ iteration, key }: Pick<Group, "iteration" | "key">): string => Key.ofGroup({ iteration, key })

/** The members that finished, with their indices. */
export const survivors = (group: Group): ReadonlyArray<readonly [member: number, trajectory: Trajectory.Trajectory]> =>
  group.members.flatMap((member, index) => Option.isSome(member) ? [[index, member.value] as const] : [])

/** The number of members, lost ones included. */
export const sizeOf = (result: GroupResult): number => isSkipped(result) ? result.size : result.members.length

/** One reason per lost member: its own failure, or the reason for which its group was skipped. Empty if every member finished. */
export const lost = (result: GroupResult): ReadonlyArray<Skipped["reason"]> => {
  if (result._tag === "Completed") return []
  if (result._tag === "Partial") return result.dropped
  const others = Array.from({ length: result.size - result.dropped.length }, () => result.reason)
  return [...result.dropped, ...others]
}

/** Whether a group was skipped and has no rewards to compare. */
export const isSkipped = (result: GroupResult): result is Skipped => result._tag === "Skipped"

const untimedTurn = (turn: Trajectory.Transition): Trajectory.Transition => {
  const { times: _, ...untimed } = turn
  return untimed
}

/** The result without times, so equal rollouts compare equal. */
export const untimed = (result: GroupResult): GroupResult => {
  if (isSkipped(result)) return result
  const { grading: _, ...group } = result
  return {
    ...group,
    members: result.members.map(Option.map((member) => ({
      ...member,
      transitions: member.transitions.map(untimedTurn)
    })))
  }
}
