/** How episodes of one kind are played, as one value. */
import type * as ToolEnv from "../env/ToolEnv.ts"
import * as FailurePolicy from "./FailurePolicy.ts"
import type * as GroupOptions from "./GroupOptions.ts"

/**
 * Both halves are spread where they belong, so that what comes after them wins: `env` into `ToolEnv.make`, `rollout` into
 * `Rollout.group`, `Rollout.stream` or `Train.run`.
 *
 * @see tinker-cookbook `RolloutConfig`
 */
export interface RolloutConfig {
  readonly env: ToolEnv.Settings
  readonly rollout: Pick<GroupOptions.Options, "termination" | "graderTimeout" | "onFailure">
}

/** Nothing but the defaults. */
export const simple: RolloutConfig = { env: {}, rollout: {} }

const graderTimeout = "15 minutes"

/** For agents: long conversations, many calls one after the other, and nothing earned at a limit. */
export const agentic: RolloutConfig = {
  env: {
    limits: { maxTurns: 10, maxTrajectoryTokens: 65_536, maxToolCalls: 30 },
    parseErrors: { maxConsecutive: 2 },
    execution: "sequential",
    graded: "new",
    graderTimeout
  },
  rollout: { termination: { zeroRewardOnLimit: true, skipGradingOnTimeout: true }, graderTimeout }
}

/**
 * What the cookbook would choose for a model by its name. Nothing here chooses by name unless this is called.
 *
 * @see tinker-cookbook `default_rollout_config_for_model`, `default_rollout_strategy_for_model`
 */
export const forModel = (name: string): RolloutConfig =>
  name.split(":", 1).join("").startsWith("thinkingmachines/Inkling")
    ? { ...agentic, rollout: { ...agentic.rollout, onFailure: FailurePolicy.minViableGroup() } }
    : simple
