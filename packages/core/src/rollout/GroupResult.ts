/** The result of rolling out a group. */
import * as Option from "effect/Option"
import type * as Trajectory from "../env/Trajectory.ts"
import type * as EnvMetric from "../records/EnvMetric.ts"
import * as Key from "../records/Key.ts"
import type { Score } from "../records/Score.ts"

/** The kinds of failure of a member; see `FailurePolicy`. */
export type FailureTag =
  | "AcquireFailed"
  | "StepFailed"
  | "GraderFailed"
  | "Ungraded"
  | "PolicyFailed"
  | "HookFailed"
  | "TimedOut"
  | "Died"

/** A failure for counts and reports. */
export interface FailureReport {
  readonly member: number
  readonly attempt: number
  readonly failure: FailureTag
  readonly message: string
}

/** Fewer members finished than the failure policy asks for. */
export interface BelowFloor {
  readonly failure: "BelowFloor"
  readonly finished: number
  readonly floor: number
  readonly message: string
}

/** When the group's rewards were asked for, since 1970, and how long they took; both in milliseconds. */
export interface GradingTime {
  readonly began: number
  readonly milliseconds: number
}

/** Members in order, `None` where dropped. `rewardsG` are totals (steps and group) `[G]`, NaN where dropped. */
export interface Group {
  /** The dataset's batch to which it belongs; 0 where there is none. */
  readonly iteration: number
  readonly key: string
  readonly tags: ReadonlyArray<string>
  /** Optimizer steps behind the weights that sampled it. */
  readonly samplerStep: number
  readonly members: ReadonlyArray<Option.Option<Trajectory.Trajectory>>
  readonly rewardsG: Float64Array
  /** The judgement behind the group's reward of each member; absent where it gave none. */
  readonly scoresG?: ReadonlyArray<Score | undefined>
  /** What the group's rewards reported, per member. */
  readonly metricsG: ReadonlyArray<EnvMetric.Metrics>
  /** Attempts that failed and were made good by a retry, in the order of members and attempts. */
  readonly retried: ReadonlyArray<FailureReport>
  /** Absent where the group's rewards took less than a millisecond. */
  readonly grading?: GradingTime
}

/** Every member finished. */
export interface Completed extends Group {
  readonly _tag: "Completed"
}

/** Some members were dropped. */
export interface Partial extends Group {
  readonly _tag: "Partial"
  /** Failures of the dropped members, in the order of members. */
  readonly dropped: ReadonlyArray<FailureReport>
}

/** No rewards to compare. */
export interface Skipped {
  readonly _tag: "Skipped"
  readonly iteration: number
  readonly key: string
  readonly tags: ReadonlyArray<string>
  readonly size: number
  /** Where every member was dropped, and no floor was missed, the first member's. */
  readonly reason: FailureReport | BelowFloor
  /** Members that were dropped before the group was given up, in order; the others were lost with it. */
  readonly dropped: ReadonlyArray<FailureReport>
}

/**
 * @see tinker-cookbook `TrajectoryGroup`
 *
 * @example
 * const share = (result: GroupResult.GroupResult) =>
 *   GroupResult.isSkipped(result) ? 0 : GroupResult.survivors(result).length / result.members.length
 */
export type GroupResult = Completed | Partial | Skipped

/** Members finished, and have rewards to compare. */
export type Finished = Completed | Partial

/** The group's name in its run, by which what is made of it is joined with it. */
export const idOf = ({ iteration, key }: Pick<Group, "iteration" | "key">): string => Key.ofGroup({ iteration, key })

/** Members that finished, with their index. */
export const survivors = (group: Group): ReadonlyArray<readonly [member: number, trajectory: Trajectory.Trajectory]> =>
  group.members.flatMap((member, index) => Option.isSome(member) ? [[index, member.value] as const] : [])

/** Its members, lost ones included. */
export const sizeOf = (result: GroupResult): number => isSkipped(result) ? result.size : result.members.length

/** Why members are missing, one reason for each: dropped, or lost with their group. */
export const lost = (result: GroupResult): ReadonlyArray<Skipped["reason"]> => {
  if (result._tag === "Completed") return []
  if (result._tag === "Partial") return result.dropped
  const others = Array.from({ length: result.size - result.dropped.length }, () => result.reason)
  return [...result.dropped, ...others]
}

/** Whether a group has no rewards to compare. */
export const isSkipped = (result: GroupResult): result is Skipped => result._tag === "Skipped"

const untimedTurn = (turn: Trajectory.Transition): Trajectory.Transition => {
  const { times: _, ...untimed } = turn
  return untimed
}

/** The result without how long it took, in which equal rollouts are equal. */
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
