/** How episodes of one kind are played, as one value. */
import type * as ToolEnv from "../env/message/ToolEnv.ts"
import type * as GroupOptions from "./GroupOptions.ts"

/**
 * Both halves are spread where they belong, so that what comes after them wins: `env` into `ToolEnv.make`, `rollout` into
 * `Rollout.group`, `Rollout.stream` or the `rollout` options of `Rl.run`.
 *
 * @example
 * const { rollout } = RolloutConfig.agentic
 * Rl.run({ model, dataset, rollout })
 *
 * @see tinker-cookbook `RolloutConfig`
 */
export interface RolloutConfig {
  readonly env: ToolEnv.Settings
  readonly rollout: Pick<GroupOptions.Options, "termination" | "graderTimeout" | "onFailure">
}

/** The defaults. */
export const simple: RolloutConfig = { env: {}, rollout: {} }

/** The configuration for agents: long conversations, many calls one after the other, and no reward at a limit. */
export const agentic: RolloutConfig = {
  env: {
    limits: { maxTurns: 10, maxTrajectoryTokens: 65_536, maxToolCalls: 30 },
    parseErrors: { maxConsecutive: 2 },
    execution: "sequential",
    graded: "new"
  },
  rollout: {
    termination: { zeroRewardOnLimit: true, skipGradingOnTimeout: true },
    graderTimeout: "15 minutes"
  }
}
