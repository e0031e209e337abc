/** Checks of what environments and policies return: types do not cover code in JavaScript, or data from outside. */
import * as Predicate from "effect/Predicate"
import type * as Env from "../env/Env.ts"
import * as Limits from "../env/Limits.ts"
import type * as Sampling from "../model/Sampling.ts"
import type * as Key from "../records/Key.ts"
import type { Score } from "../records/Score.ts"
import * as Check from "../settings/Check.ts"
import { RolloutError, Violation } from "./RolloutError.ts"

const violation = (key: Key.MemberKey, field: string, found: unknown, expected: string) =>
  new RolloutError({
    group: key.group,
    member: key.member,
    reason: new Violation({ field, found: String(found), expected })
  })

const wrongTag = (key: Key.MemberKey, field: string, given: unknown, tag: string, other: string = tag) => {
  if (Predicate.isTagged(given, tag) || Predicate.isTagged(given, other)) return undefined
  const found = Predicate.isObject(given) ? given["_tag"] : given
  return violation(key, `${field}._tag`, found, tag === other ? tag : `${tag} or ${other}`)
}

/** The advantages of larger rewards do not fit into 32-bit floats. */
const largestReward = 1e30

/** What a reward is expected to be; undefined for a valid reward. */
export const expectedReward = (reward: number) => {
  if (!Number.isFinite(reward)) return "a finite number"
  return Math.abs(reward) <= largestReward ? undefined : "a number from -1e30 to 1e30"
}

const wrongReward = (key: Key.MemberKey, field: string, { reward }: Env.Overflow | Env.Step) => {
  const expected = expectedReward(reward)
  return expected === undefined ? undefined : violation(key, `${field}.reward`, reward, expected)
}

/** The first number of a score that is not one; undefined for a valid score. */
export const wrongNumber = ({ parts = {}, value }: Score): readonly [field: string, found: number] | undefined =>
  [["value", value] as const, ...Object.entries(parts).map(([name, part]) => [`parts.${name}`, part] as const)]
    .find(([, found]) => !Number.isFinite(found))

const wrongScore = (key: Key.MemberKey, { score }: Env.Step) => {
  const [field, found] = score === undefined ? [] : wrongNumber(score) ?? []
  return field === undefined ? undefined : violation(key, `step.score.${field}`, found, "a finite number")
}

const noTokens = (key: Key.MemberKey, field: string, { input }: Env.Prompt) =>
  input.length > 0 ? undefined : violation(key, `${field}.input`, "0 tokens", "at least 1")

const wrongBranch = (key: Key.MemberKey, field: string, { branch }: Env.Prompt, turns: number) =>
  branch === undefined || (Number.isInteger(branch.after) && branch.after >= -1 && branch.after < turns)
    ? undefined
    : violation(key, `${field}.branch.after`, branch.after, `a turn before it, from -1 to ${turns - 1}`)

const wrongMaxTokens = (key: Key.MemberKey, field: string, { maxTokens }: Env.Prompt) =>
  maxTokens === undefined || (Number.isSafeInteger(maxTokens) && maxTokens >= 1)
    ? undefined
    : violation(key, `${field}.maxTokens`, maxTokens, "a whole number from 1 on")

/** A prompt that is shown after so many turns. */
export const wrongPrompt = (key: Key.MemberKey, field: string, given: Env.Prompt, turns: number) =>
  wrongTag(key, field, given, "Prompt") ?? noTokens(key, field, given) ?? wrongMaxTokens(key, field, given)
    ?? wrongBranch(key, field, given, turns)

export const wrongInitial = (key: Key.MemberKey, given: Env.Prompt | Env.Overflow) =>
  wrongTag(key, "initialObservation", given, "Prompt", "Overflow")
    ?? (given._tag === "Overflow"
      ? wrongReward(key, "initialObservation", given)
      : wrongPrompt(key, "initialObservation", given, 0))

const wrongToolCalls = (key: Key.MemberKey, { toolCalls }: Env.Step, left: number | undefined) => {
  if (
    toolCalls === undefined || (Number.isSafeInteger(toolCalls) && toolCalls >= 0 && toolCalls <= (left ?? toolCalls))
  ) {
    return undefined
  }
  const most = left === undefined ? "from 0 on" : `from 0 to the ${left} that were left`
  return violation(key, "step.toolCalls", toolCalls, `a whole number ${most}`)
}

/** What a step may do, and how many turns the episode has had with it. */
interface Taken {
  readonly toolCallsLeft: number | undefined
  readonly turns: number
}

export const wrongStep = (key: Key.MemberKey, given: Env.Step, { toolCallsLeft, turns }: Taken) =>
  wrongTag(key, "step", given, "Continue", "Done")
    ?? wrongReward(key, "step", given)
    ?? wrongScore(key, given)
    ?? wrongToolCalls(key, given, toolCallsLeft)
    ?? (given._tag === "Continue" ? wrongPrompt(key, "step.observation", given.observation, turns) : undefined)

/** The first position whose value is not finite, or −1. A loop, because a callback would allocate a number for each token. */
const firstNotFinite = (values: Float32Array) => {
  for (let index = 0; index < values.length; index++) if (!Number.isFinite(values[index])) return index
  return -1
}

export const wrongAction = (
  key: Key.MemberKey,
  { logprobs, tokens }: Sampling.SampledTokens,
  maxTokens: number | undefined
) => {
  if (tokens.length !== logprobs.length) {
    return violation(key, "logprobs", `${logprobs.length} values`, `one per token (${tokens.length})`)
  }
  const at = firstNotFinite(logprobs)
  if (at !== -1) return violation(key, `logprobs[${at}]`, logprobs[at], "a finite number")
  return maxTokens === undefined || tokens.length <= maxTokens
    ? undefined
    : violation(key, "tokens", `${tokens.length} tokens`, `at most the ${maxTokens} that were asked for`)
}

/** The limits of an environment. */
export const wrongLimits = (key: Key.MemberKey, limits: Limits.Limits) => {
  const invalid = Check.broken(Limits.checks(limits, "limits."))
  return invalid && violation(key, invalid.field, invalid.found, invalid.expected)
}
