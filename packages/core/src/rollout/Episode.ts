/** One environment and one policy, turn by turn until done. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import type * as Env from "../env/Env.ts"
import * as Trajectory from "../env/Trajectory.ts"
import type * as Sampling from "../model/Sampling.ts"
import type * as Policy from "../policy/Policy.ts"
import * as Key from "../record/Key.ts"
import type { Failure } from "./FailurePolicy.ts"
import { RolloutError, Violation } from "./RolloutError.ts"

const violation = (key: Key.MemberKey, field: string, found: unknown, expected: string) =>
  new RolloutError({
    group: key.group,
    member: key.member,
    reason: new Violation({ field, found: String(found), expected })
  })

/** Types do not reach an environment written in JavaScript or fed from outside: what it gives is checked. */
const tagViolation = (key: Key.MemberKey, field: string, given: unknown, ...tags: ReadonlyArray<string>) => {
  if (tags.some((tag) => Predicate.isTagged(given, tag))) return undefined
  const found = Predicate.isObject(given) ? given["_tag"] : given
  return violation(key, `${field}._tag`, found, tags.join(" or "))
}

const rewardViolation = (key: Key.MemberKey, field: string, { reward }: Env.Overflow | Env.Step) =>
  Number.isFinite(reward) ? undefined : violation(key, `${field}.reward`, reward, "a finite number")

const initialViolation = (key: Key.MemberKey, given: Env.Prompt | Env.Overflow) =>
  tagViolation(key, "initialObservation", given, "Prompt", "Overflow")
    ?? (given._tag === "Overflow" ? rewardViolation(key, "initialObservation", given) : undefined)

const stepViolation = (key: Key.MemberKey, given: Env.Step) =>
  tagViolation(key, "step", given, "Continue", "Done")
    ?? rewardViolation(key, "step", given)
    ?? (given._tag === "Continue" ? tagViolation(key, "step.observation", given.observation, "Prompt") : undefined)

const actionViolation = (key: Key.MemberKey, { logprobs, tokens }: Sampling.SampledTokens) =>
  tokens.length === logprobs.length
    ? undefined
    : violation(key, "logprobs", `${logprobs.length} values`, `one per token (${tokens.length})`)

const nothing = {}

const transition = (
  observation: Env.Prompt,
  action: Sampling.SampledTokens,
  step: Env.Step
): Trajectory.Transition => ({
  observation: observation.input,
  action,
  reward: step.reward,
  trainable: step.trainable ?? true,
  metrics: step.metrics ?? nothing,
  logs: step.logs ?? nothing
})

/** An episode whose failures say who failed. */
export const run = Effect.fnUntraced(function*<E, R, PE, PR>(
  env: Env.Env<E, R>,
  policy: Policy.Policy<PE, PR>,
  key: Key.MemberKey
): Effect.fn.Return<Trajectory.Trajectory, Failure<E, PE>, R | PR> {
  const stepFailed = (error: E | RolloutError): Failure<E, PE> => ({ _tag: "StepFailed", error })
  const policyFailed = (error: PE | RolloutError): Failure<E, PE> => ({ _tag: "PolicyFailed", error })

  const initial = yield* Effect.mapError(env.initialObservation, stepFailed)
  const wrongInitial = initialViolation(key, initial)
  if (wrongInitial !== undefined) return yield* Effect.fail(stepFailed(wrongInitial))
  if (initial._tag === "Overflow") return Trajectory.withoutAction(initial.reward, "max_tokens")
  const transitions: Array<Trajectory.Transition> = []
  let observation = initial
  let stepReward = 0
  while (true) {
    const request = { prompt: observation.input, stop: observation.stop, key: Key.turn(key, transitions.length) }
    const action = yield* Effect.mapError(policy.act(request), policyFailed)
    const wrongAction = actionViolation(key, action)
    if (wrongAction !== undefined) return yield* Effect.fail(policyFailed(wrongAction))
    const step = yield* Effect.mapError(env.step(action), stepFailed)
    const wrongStep = stepViolation(key, step)
    if (wrongStep !== undefined) return yield* Effect.fail(stepFailed(wrongStep))
    transitions.push(transition(observation, action, step))
    stepReward += step.reward
    if (step._tag === "Done") return { transitions, stepReward, stopReason: Option.fromNullishOr(step.stopReason) }
    observation = step.observation
  }
})
