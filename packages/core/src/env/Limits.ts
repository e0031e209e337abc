/** Limits of an episode. A limit that is not set does not apply. */
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import * as Setting from "../settings/Setting.ts"

/**
 * The settings of an episode's limits. Limits that change the samples belong to a run's identity; limits that only decide which attempts
 * fail may change when the run is resumed.
 */
export const LimitSettings = Schema.Struct({
  /** Policy calls. */
  maxTurns: Setting.int({ least: 1, help: "Policy calls", identity: true }),
  /** Limit on the tokens of a prompt, which contains the whole conversation so far, and of the response after it. */
  maxTrajectoryTokens: Setting.int({
    least: 1,
    unit: "tokens",
    help: "Limit on the tokens of a prompt, which contains the whole conversation so far, and of the response after it",
    identity: true
  }),
  /** Limit on the tokens sampled in all turns together. */
  maxSampledTokens: Setting.int({
    least: 1,
    unit: "tokens",
    help: "Limit on the tokens sampled in all turns together",
    identity: true
  }),
  /** Limit on the tokens sampled in one turn; a turn that is cut there does not by itself end the episode. */
  maxTurnTokens: Setting.int({
    least: 1,
    unit: "tokens",
    help: "Limit on the tokens sampled in one turn; a turn that is cut there does not by itself end the episode",
    identity: true
  }),
  /** Limit on the tool calls of all turns together. */
  maxToolCalls: Setting.int({
    least: 1,
    unit: "calls",
    help: "Limit on the tool calls of all turns together",
    identity: true
  }),
  /** Time limit of an episode, which then ends with the turns that it has finished. */
  rolloutTimeout: Setting.duration({
    help: "Time limit of an episode, which then ends with the turns that it has finished",
    identity: true
  }),
  /** A policy call that takes longer fails the attempt. */
  turnTimeout: Setting.duration({ help: "A policy call that takes longer fails the attempt" }),
  /** A first prompt, step or injection of the environment that takes longer fails the attempt. */
  stepTimeout: Setting.duration({
    help: "A first prompt, step or injection of the environment that takes longer fails the attempt"
  })
})

/**
 * The limits of an episode.
 *
 * @see tinker-cookbook `RolloutLimits`
 *
 * @example
 * const limits: Limits.Limits = { maxTurns: 10, maxSampledTokens: 2048, rolloutTimeout: "2 minutes" }
 */
export interface Limits extends Schema.Codec.Encoded<typeof LimitSettings> {}

/** No limits. */
export const unlimited: Limits = {}

/** Checks all limits; `prefix`, such as `limits.`, precedes their names in errors. */
export const checks = Setting.checks(LimitSettings)

/** The smaller of two limits; undefined means no limit. */
export const smaller = (left: number | undefined, right: number | undefined) =>
  left === undefined || right === undefined ? left ?? right : Math.min(left, right)

const shorter = (left: Duration.Input | undefined, right: Duration.Input | undefined) =>
  left === undefined || right === undefined
    ? left ?? right
    : Duration.min(Duration.fromInputUnsafe(left), Duration.fromInputUnsafe(right))

/** The limits without those that are undefined, because an unset limit must be absent. */
function set(limits: { readonly [K in keyof Limits]-?: Limits[K] | undefined }): Limits
function set(limits: object) {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined))
}

/** The tighter of each pair of limits. A limit that only one side sets applies. */
export const tighter = (left: Limits, right: Limits): Limits =>
  set({
    maxTurns: smaller(left.maxTurns, right.maxTurns),
    maxTrajectoryTokens: smaller(left.maxTrajectoryTokens, right.maxTrajectoryTokens),
    maxSampledTokens: smaller(left.maxSampledTokens, right.maxSampledTokens),
    maxTurnTokens: smaller(left.maxTurnTokens, right.maxTurnTokens),
    maxToolCalls: smaller(left.maxToolCalls, right.maxToolCalls),
    rolloutTimeout: shorter(left.rolloutTimeout, right.rolloutTimeout),
    turnTimeout: shorter(left.turnTimeout, right.turnTimeout),
    stepTimeout: shorter(left.stepTimeout, right.stepTimeout)
  })

/** The stop reason of the first token budget with at most one token left; undefined if there is none. */
export const exhausted = (self: Limits, observationTokens: number, sampledTokens: number) => {
  if ((self.maxTrajectoryTokens ?? Infinity) - observationTokens <= 1) return "max_tokens"
  return (self.maxSampledTokens ?? Infinity) - sampledTokens <= 1 ? "max_sampled_tokens" : undefined
}

const unlessSpent = (left: number) => left > 1 ? left : Infinity

/**
 * The maximum number of tokens of the next turn; undefined if unlimited. A budget with at most one token left, after which a hook let the
 * episode continue, does not limit it.
 */
export const turnTokens = (self: Limits, observationTokens: number, sampledTokens: number): number | undefined => {
  const least = Math.min(
    self.maxTurnTokens ?? Infinity,
    unlessSpent((self.maxTrajectoryTokens ?? Infinity) - observationTokens),
    unlessSpent((self.maxSampledTokens ?? Infinity) - sampledTokens)
  )
  return least === Infinity ? undefined : least
}
