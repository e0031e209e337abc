/** What an episode that was cut short is worth. */
import * as Option from "effect/Option"
import * as Metric from "../record/Metric.ts"
import type { GroupReward } from "./EnvGroupBuilder.ts"
import type { StopReason } from "./StopReason.ts"
import type { Trajectory } from "./Trajectory.ts"

/** The stop reasons that mean a limit was hit; overflowing the context and not being understood are none. */
export const limitStopReasons: ReadonlyArray<StopReason> = [
  "max_tokens",
  "max_sampled_tokens",
  "max_turns",
  "max_tool_calls",
  "rollout_timeout"
]

/**
 * @see tinker-cookbook `TerminationRewardPolicy`
 *
 * @example
 * const strict: TerminationReward.TerminationReward = { zeroRewardOnLimit: true, skipGradingOnTimeout: true }
 */
export interface TerminationReward {
  /** A total above 0 of an episode that ended at a limit becomes exactly 0; default false. */
  readonly zeroRewardOnLimit?: boolean
  /** What counts as ending at a limit; default `limitStopReasons`. A hook's own names may be among them. */
  readonly limitStopReasons?: ReadonlyArray<string>
  /** With `zeroRewardOnLimit`, a group of which every member ran out of time is not graded; default false. */
  readonly skipGradingOnTimeout?: boolean
}

const endedAt = (self: TerminationReward, { stopReason }: Trajectory) =>
  Option.isSome(stopReason) && (self.limitStopReasons ?? limitStopReasons).includes(stopReason.value)

/** Whether nothing above 0 could come of grading. */
export const skipsGrading = (self: TerminationReward, trajectories: ReadonlyArray<Trajectory>) =>
  self.skipGradingOnTimeout === true
  && self.zeroRewardOnLimit === true
  && trajectories.every((trajectory) =>
    Option.contains(trajectory.stopReason, "rollout_timeout") && endedAt(self, trajectory)
  )

/** The group's reward of one member; where it is clamped, the metric `zero_reward_on_limit` says so. */
export const apply = (self: TerminationReward, trajectory: Trajectory, given: GroupReward): GroupReward =>
  self.zeroRewardOnLimit === true && endedAt(self, trajectory) && trajectory.stepReward + given.reward > 0
    ? { reward: -trajectory.stepReward, metrics: { ...given.metrics, zero_reward_on_limit: Metric.rate(true) } }
    : given
