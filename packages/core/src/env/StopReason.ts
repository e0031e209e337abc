/**
 * Why an episode ended.
 *
 * @example
 * const isCut = (reason: StopReason.StopReason) => TerminationReward.limitStopReasons.includes(reason)
 */
import * as Schema from "effect/Schema"

/** The built-in reasons why an episode ends. @see tinker-cookbook `StopReason` */
export const StopReason = Schema.Literals([
  "completed",
  "tool_stopped",
  "max_turns",
  "max_tokens",
  "max_sampled_tokens",
  "max_tool_calls",
  "context_overflow",
  "parse_error",
  "rollout_timeout",
  "idle_timeout"
])
export type StopReason = typeof StopReason.Type

/** A built-in stop reason, or a hook's own name for one. */
export type Name = StopReason | (string & Record<never, never>)
