/** Adjusts the rewards of episodes that were cut short. */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as EnvMetric from "../../records/EnvMetric.ts"
import * as Setting from "../../settings/Setting.ts"
import type { GroupReward } from "../EnvGroupBuilder.ts"
import type { StopReason } from "../StopReason.ts"
import type { Trajectory } from "../Trajectory.ts"

/** The stop reasons of limits. Context overflows and responses that cannot be parsed are not included. */
export const limitStopReasons: ReadonlyArray<StopReason> = [
  "max_tokens",
  "max_sampled_tokens",
  "max_turns",
  "max_tool_calls",
  "rollout_timeout"
]

/** The settings for episodes that end at a limit. */
export const TerminationSettings = Schema.Struct({
  /** Set a total reward above 0 to exactly 0 if the episode ended at a limit. Default: false. */
  zeroRewardOnLimit: Setting.toggle({
    default: false,
    help: "Set a total reward above 0 to exactly 0 if the episode ended at a limit",
    identity: true
  }),
  /** The stop reasons that count as ending at a limit, including names that hooks define. */
  limitStopReasons: Setting.texts({
    default: limitStopReasons,
    help: "The stop reasons that count as ending at a limit, including names that hooks define",
    identity: true
  }),
  /** With zeroRewardOnLimit, do not grade a group in which every member ran out of time. Default: false. */
  skipGradingOnTimeout: Setting.toggle({
    default: false,
    help: "With zeroRewardOnLimit, do not grade a group in which every member ran out of time",
    identity: true
  })
})

/**
 * How the reward of an episode changes if it ended at a limit.
 *
 * @see tinker-cookbook `TerminationRewardPolicy`
 *
 * @example
 * const strict: TerminationReward.TerminationReward = { zeroRewardOnLimit: true, skipGradingOnTimeout: true }
 */
export interface TerminationReward extends Schema.Codec.Encoded<typeof TerminationSettings> {}

const endedAt = (self: TerminationReward, { stopReason }: Trajectory) =>
  Option.isSome(stopReason) && (self.limitStopReasons ?? limitStopReasons).includes(stopReason.value)

/** Whether grading can be skipped because no member could get a reward above 0. */
export const skipsGrading = (self: TerminationReward, trajectories: ReadonlyArray<Trajectory>) =>
  self.skipGradingOnTimeout === true
  && self.zeroRewardOnLimit === true
  && trajectories.every((trajectory) =>
    Option.contains(trajectory.stopReason, "rollout_timeout") && endedAt(self, trajectory)
  )

/** The member's group reward, lowered if the total must become 0. The metric `zero_reward_on_limit` is added if it was lowered. */
export const apply = (self: TerminationReward, trajectory: Trajectory, given: GroupReward): GroupReward =>
  self.zeroRewardOnLimit === true && endedAt(self, trajectory) && trajectory.stepReward + given.reward > 0
    ? {
      ...given,
      reward: -trajectory.stepReward,
      metrics: { ...given.metrics, zero_reward_on_limit: EnvMetric.rate(true) }
    }
    : given
