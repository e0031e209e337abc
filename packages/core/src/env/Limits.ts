/** Limits of an episode. What is not given is not limited. */
import * as Duration from "effect/Duration"
import * as Check from "../settings/Check.ts"
import * as Fields from "../settings/Fields.ts"

/**
 * @see tinker-cookbook `RolloutLimits`
 *
 * @example
 * const limits: Limits.Limits = { maxTurns: 10, maxSampledTokens: 2048, rolloutTimeout: "2 minutes" }
 */
export interface Limits {
  /** Policy calls. */
  readonly maxTurns?: number
  /** Tokens of a prompt, which is the whole conversation so far, and what is sampled after it. */
  readonly maxTrajectoryTokens?: number
  /** Sampled tokens of all turns together. */
  readonly maxSampledTokens?: number
  /** Sampled tokens of one turn; being cut there does not by itself end the episode. */
  readonly maxTurnTokens?: number
  /** Tool calls of all turns together. */
  readonly maxToolCalls?: number
  /** When this time is over, the episode ends and keeps the turns that it finished. */
  readonly rolloutTimeout?: Duration.Input
  /** A policy call that takes longer fails the attempt. */
  readonly turnTimeout?: Duration.Input
  /** A first prompt, step or injection of the environment that takes longer fails the attempt. */
  readonly stepTimeout?: Duration.Input
}

/** No limits. */
export const unlimited: Limits = {}

const counts = ["maxTurns", "maxTrajectoryTokens", "maxSampledTokens", "maxTurnTokens", "maxToolCalls"] as const
const times = ["rolloutTimeout", "turnTimeout", "stepTimeout"] as const

/** Checks of all limits; `prefix` begins their names, such as `limits.`. */
export const checks = (self: Limits, prefix = ""): ReadonlyArray<Check.Check> => [
  ...counts.map((field) => Check.option(`${prefix}${field}`, self[field], Check.whole(1))),
  ...times.map((field) => Check.option(`${prefix}${field}`, self[field], Check.time))
]

const smaller = (left: number | undefined, right: number | undefined) =>
  left === undefined || right === undefined ? left ?? right : Math.min(left, right)

const shorter = (left: Duration.Input | undefined, right: Duration.Input | undefined) =>
  left === undefined || right === undefined
    ? left ?? right
    : Duration.min(Duration.fromInputUnsafe(left), Duration.fromInputUnsafe(right))

/** The tighter of each pair of limits. */
export const tighter = (left: Limits, right: Limits): Limits =>
  Fields.given<Limits>({
    maxTurns: smaller(left.maxTurns, right.maxTurns),
    maxTrajectoryTokens: smaller(left.maxTrajectoryTokens, right.maxTrajectoryTokens),
    maxSampledTokens: smaller(left.maxSampledTokens, right.maxSampledTokens),
    maxTurnTokens: smaller(left.maxTurnTokens, right.maxTurnTokens),
    maxToolCalls: smaller(left.maxToolCalls, right.maxToolCalls),
    rolloutTimeout: shorter(left.rolloutTimeout, right.rolloutTimeout),
    turnTimeout: shorter(left.turnTimeout, right.turnTimeout),
    stepTimeout: shorter(left.stepTimeout, right.stepTimeout)
  })

/** The token budget that leaves no room for another turn, for which a single token is too little. */
export const exhausted = (self: Limits, observationTokens: number, sampledTokens: number) => {
  if ((self.maxTrajectoryTokens ?? Infinity) - observationTokens <= 1) return "max_tokens"
  return (self.maxSampledTokens ?? Infinity) - sampledTokens <= 1 ? "max_sampled_tokens" : undefined
}

const unlessSpent = (left: number) => left > 1 ? left : Infinity

/** Tokens that the next turn may sample; an exhausted budget that a hook passed over does not cap it. */
export const turnTokens = (self: Limits, observationTokens: number, sampledTokens: number): number | undefined => {
  const least = Math.min(
    self.maxTurnTokens ?? Infinity,
    unlessSpent((self.maxTrajectoryTokens ?? Infinity) - observationTokens),
    unlessSpent((self.maxSampledTokens ?? Infinity) - sampledTokens)
  )
  return least === Infinity ? undefined : least
}
