/** How far an episode may go. What is not given is not limited. */
import * as Duration from "effect/Duration"

/** @see tinker-cookbook `RolloutLimits` */
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
  /** When it is over the episode ends and keeps the turns it finished. */
  readonly rolloutTimeout?: Duration.Input
  /** A policy call that takes longer fails the attempt. */
  readonly turnTimeout?: Duration.Input
}

const smaller = (left: number | undefined, right: number | undefined) =>
  left === undefined || right === undefined ? left ?? right : Math.min(left, right)

const shorter = (left: Duration.Input | undefined, right: Duration.Input | undefined) =>
  left === undefined || right === undefined
    ? left ?? right
    : Duration.min(Duration.fromInputUnsafe(left), Duration.fromInputUnsafe(right))

const given = <A extends object>(fields: { readonly [K in keyof A]: A[K] | undefined }) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

/** Both at once: the tighter of each. */
export const tighter = (left: Limits, right: Limits): Limits =>
  given<Limits>({
    maxTurns: smaller(left.maxTurns, right.maxTurns),
    maxTrajectoryTokens: smaller(left.maxTrajectoryTokens, right.maxTrajectoryTokens),
    maxSampledTokens: smaller(left.maxSampledTokens, right.maxSampledTokens),
    maxTurnTokens: smaller(left.maxTurnTokens, right.maxTurnTokens),
    maxToolCalls: smaller(left.maxToolCalls, right.maxToolCalls),
    rolloutTimeout: shorter(left.rolloutTimeout, right.rolloutTimeout),
    turnTimeout: shorter(left.turnTimeout, right.turnTimeout)
  })
