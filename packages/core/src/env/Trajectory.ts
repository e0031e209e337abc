/** What happened in one episode. */
import * as Option from "effect/Option"
import type * as ModelInput from "../model/ModelInput.ts"
import type * as Sampling from "../model/Sampling.ts"
import type * as Metric from "../record/Metric.ts"
import type { StopReason } from "./StopReason.ts"

/** @see tinker-cookbook `Transition` */
export interface Transition {
  readonly observation: ModelInput.ModelInput
  readonly action: Sampling.SampledTokens
  readonly reward: number
  /** Whether this turn's tokens may be trained on. */
  readonly trainable: boolean
  readonly metrics: Metric.Metrics
  readonly logs: Readonly<Record<string, string | number>>
}

/** `transitions` in order; none when the first prompt was over budget. `stepReward` is their sum, or the overflow's reward. */
export interface Trajectory {
  readonly transitions: ReadonlyArray<Transition>
  readonly stepReward: number
  readonly stopReason: Option.Option<StopReason>
}

export const isTruncated = (self: Trajectory) => self.transitions.at(-1)?.action.stopReason === "length"

export const actionTokens = (self: Trajectory) =>
  self.transitions.reduce((count, transition) => count + transition.action.tokens.length, 0)

export const observationTokens = (self: Trajectory) =>
  self.transitions.reduce((count, transition) => count + transition.observation.length, 0)

/** An episode that ended before its first action. */
export const withoutAction = (reward: number, stopReason: StopReason): Trajectory => ({
  transitions: [],
  stepReward: reward,
  stopReason: Option.some(stopReason)
})
