/**
 * Plays one environment with one policy, turn by turn, until it is done or reaches a limit. Return values are checked at run time, because
 * types do not cover JavaScript code or external data.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import type * as Types from "effect/Types"
import type { Offered } from "../chat/ToolSpec.ts"
import type * as Env from "../env/Env.ts"
import * as Limits from "../env/Limits.ts"
import type * as StopReason from "../env/StopReason.ts"
import * as Trajectory from "../env/Trajectory.ts"
import type * as Sampling from "../model/Sampling.ts"
import type * as Policy from "../policy/Policy.ts"
import type * as Key from "../records/Key.ts"
import * as Score from "../records/Score.ts"
import * as Check from "../settings/Check.ts"
import type { Failure } from "./FailurePolicy.ts"
import type { Hooks, State } from "./Hooks.ts"
import { type Reason, RolloutError, StepTimedOut, TurnTimedOut, Unsupported, Violation } from "./RolloutError.ts"

export interface Options<out E = never, out R = never> {
  /** The caller's limits. The environment's own limits apply if they are tighter. Default: unlimited. */
  readonly limits?: Limits.Limits
  /** Effects to run around the episode. Default: none. */
  readonly hooks?: Hooks<E, R>
}

interface Progress {
  readonly transitions: Array<Trajectory.Transition>
  /** The conversation of each finished turn, without its response. A turn that shows only tokens repeats the previous turn's. */
  readonly conversations: Array<Env.Prompt["messages"]>
  /** The tools that each of `conversations` describes. */
  readonly offers: Array<Offered | undefined>
  /** The newest prompt; undefined before the first. */
  observation: Env.Prompt | undefined
  stepReward: number
  sampledTokens: number
  toolCalls: number
  truncations: number
}

interface Episode<E, R, PE, PR> {
  readonly env: Env.Env<E, R>
  readonly policy: Policy.Policy<PE, PR>
  readonly key: Key.MemberKey
  readonly limits: Limits.Limits
  readonly hooks: Hooks<E, R> | undefined
  readonly startedAt: number
  readonly progress: Progress
}

/** Why an episode ended, undefined if its environment gave no reason, and whether the environment ended it (`graded`). */
interface Ending {
  readonly reason: StopReason.Name | undefined
  readonly graded: boolean
  readonly logs?: NonNullable<Env.Overflow["logs"]>
}

const stepFailed = <E>(error: E) => ({ _tag: "StepFailed", error }) as const
const policyFailed = <E>(error: E) => ({ _tag: "PolicyFailed", error }) as const
const hookFailed = <E>(error: E) => ({ _tag: "HookFailed", error }) as const

/** Fails with `TimedOut` if the effect exceeds the limit; the error names the limit. Without a limit, returns the effect unchanged. */
export const within = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  limit: Duration.Input | undefined,
  late: (limit: string) => RolloutError
): Effect.Effect<A, E | { readonly _tag: "TimedOut"; readonly error: RolloutError }, R> =>
  limit === undefined ? effect : Effect.timeoutOrElse(effect, {
    duration: limit,
    orElse: () =>
      Effect.fail({ _tag: "TimedOut", error: late(Duration.format(Duration.fromInputUnsafe(limit))) } as const)
  })

const errorOf = ({ group, member }: Key.MemberKey, reason: Reason) => new RolloutError({ group, member, reason })

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

/** The largest absolute reward that is accepted, because the advantages of larger rewards do not fit into 32-bit floats. */
const largestReward = 1e30

/** A reward and the score it comes from. */
interface Judged {
  readonly reward: number
  readonly score?: Score.Score
}

/** The first invalid number in a judgement: its field, its value and what was expected. Undefined if all numbers are valid. */
export const invalidNumber = ({ reward, score }: Judged) => {
  if (!Number.isFinite(reward)) return { field: "reward", found: reward, expected: "a finite number" }
  if (Math.abs(reward) > largestReward) {
    return { field: "reward", found: reward, expected: "a number from -1e30 to 1e30" }
  }
  if (score === undefined) return undefined
  const { parts = {}, value } = score
  const [name, found] =
    [["value", value] as const, ...Object.entries(parts).map(([name, part]) => [`parts.${name}`, part] as const)].find((
      [, found]
    ) => !Number.isFinite(found)) ?? []
  return name === undefined ? undefined : { field: `score.${name}`, found, expected: "a finite number" }
}

const wrongNumber = (key: Key.MemberKey, field: string, judged: Judged) => {
  const invalid = invalidNumber(judged)
  return invalid && violation(key, `${field}.${invalid.field}`, invalid.found, invalid.expected)
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
    : violation(key, `${field}.maxTokens`, maxTokens, "a whole number of at least 1")

/** The violation of a prompt that is shown after `turns` turns; undefined if the prompt is valid. */
const wrongPrompt = (key: Key.MemberKey, field: string, given: Env.Prompt, turns: number) =>
  wrongTag(key, field, given, "Prompt") ?? noTokens(key, field, given) ?? wrongMaxTokens(key, field, given)
    ?? wrongBranch(key, field, given, turns)

const wrongInitial = (key: Key.MemberKey, given: Env.Prompt | Env.Overflow) =>
  wrongTag(key, "initialObservation", given, "Prompt", "Overflow")
    ?? (given._tag === "Overflow"
      ? wrongNumber(key, "initialObservation", given)
      : wrongPrompt(key, "initialObservation", given, 0))

const wrongToolCalls = (key: Key.MemberKey, { toolCalls }: Env.Step, left: number | undefined) => {
  if (
    toolCalls === undefined || (Number.isSafeInteger(toolCalls) && toolCalls >= 0 && toolCalls <= (left ?? toolCalls))
  ) {
    return undefined
  }
  const most = left === undefined ? "of at least 0" : `from 0 to the ${left} that were left`
  return violation(key, "step.toolCalls", toolCalls, `a whole number ${most}`)
}

/** The number of tool calls that a step may still make, and the number of turns including the step's own. */
interface Taken {
  readonly toolCallsLeft: number | undefined
  readonly turns: number
}

const wrongStep = (key: Key.MemberKey, given: Env.Step, { toolCallsLeft, turns }: Taken) =>
  wrongTag(key, "step", given, "Continue", "Done")
    ?? wrongNumber(key, "step", given)
    ?? wrongToolCalls(key, given, toolCallsLeft)
    ?? (given._tag === "Continue" ? wrongPrompt(key, "step.observation", given.observation, turns) : undefined)

/** The first index whose value is not finite, or −1. A loop, because a callback would allocate a number per token. */
const firstNotFinite = (values: Float32Array) => {
  for (let index = 0; index < values.length; index++) if (!Number.isFinite(values[index])) return index
  return -1
}

const wrongAction = (
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
    : violation(key, "tokens", `${tokens.length} tokens`, `at most the requested ${maxTokens}`)
}

/** The violation of the environment's limits; undefined if they are valid. */
const wrongLimits = (key: Key.MemberKey, limits: Limits.Limits) => {
  const invalid = Check.broken(Limits.checks(limits, "limits."))
  return invalid && violation(key, invalid.field, invalid.found, invalid.expected)
}

/** Calls the environment within its time limit. */
const answered = <A, E, R, PE, PR>({ key, limits, progress }: Episode<E, R, PE, PR>, answer: Effect.Effect<A, E, R>) =>
  within(
    Effect.mapError(answer, stepFailed),
    limits.stepTimeout,
    (limit) => errorOf(key, new StepTimedOut({ turn: progress.transitions.length, limit }))
  )

/** Samples from the policy within its time limit. */
const sampled = <E, R, PE, PR>({ key, limits, policy }: Episode<E, R, PE, PR>, request: Policy.Request) =>
  within(
    Effect.mapError(policy.act(request), policyFailed),
    limits.turnTimeout,
    (limit) => errorOf(key, new TurnTimedOut({ turn: request.key.turn, limit }))
  )

const elapsed = <E, R, PE, PR>({ startedAt }: Episode<E, R, PE, PR>) =>
  Effect.map(Clock.currentTimeMillis, (now) => now - startedAt)

const state = <E, R, PE, PR>(episode: Episode<E, R, PE, PR>): Effect.Effect<State> =>
  Effect.map(elapsed(episode), (millis) => ({
    key: episode.key,
    transitions: episode.progress.transitions.slice(),
    observationTokens: episode.progress.observation?.input.length ?? 0,
    sampledTokens: episode.progress.sampledTokens,
    truncations: episode.progress.truncations,
    elapsed: Duration.millis(millis)
  }))

/** Asks the hooks about a reason to stop. Returns the final reason, or `None` to continue. */
const consulted = <E, R, PE, PR>(episode: Episode<E, R, PE, PR>, reason: StopReason.StopReason) => {
  const ask = episode.hooks?.onStopReason
  return ask === undefined
    ? Effect.succeed(Option.some<StopReason.Name>(reason))
    : Effect.mapError(Effect.flatMap(state(episode), (state) => ask(reason, state)), hookFailed)
}

/** Injects messages (possibly none) into the conversation and returns the new prompt. */
const shown = Effect.fnUntraced(function*<E, R, PE, PR>(
  episode: Episode<E, R, PE, PR>,
  asked: string,
  messages: Parameters<NonNullable<Env.Env["inject"]>>[0]
) {
  const { env, key } = episode
  if (env.inject === undefined) {
    return yield* Effect.fail(stepFailed(errorOf(key, new Unsupported({ asked, missing: "inject" }))))
  }
  const prompt = yield* answered(episode, env.inject(messages))
  const wrong = wrongPrompt(key, "inject", prompt, episode.progress.transitions.length)
  return wrong === undefined ? prompt : yield* Effect.fail(stepFailed(wrong))
})

const beganTurn = Effect.fnUntraced(function*<E, R, PE, PR>(episode: Episode<E, R, PE, PR>, observation: Env.Prompt) {
  const begin = episode.hooks?.onTurnBegin
  if (begin === undefined) return observation
  const messages = yield* Effect.mapError(Effect.flatMap(state(episode), begin), hookFailed)
  return messages.length === 0 ? observation : yield* shown(episode, "a hook that adds messages", messages)
})

/** The times of a turn. Undefined if the turn took less than a millisecond, which is common with scripted policies. */
const timesOf = (began: number, sampledAt: number, endedAt: number) =>
  endedAt > began ? { began, sampling: sampledAt - began, environment: endedAt - sampledAt } : undefined

const nothing = {}

/** The entry of the turn that a prompt continues, or else the last entry. The prompt is recorded as the difference from this entry. */
const continued = <A>(before: ReadonlyArray<A>, branch: Env.Prompt["branch"]) =>
  before[branch?.after ?? -1] ?? before.at(-1)

/** Adds a finished turn to the progress. */
const record = (
  progress: Progress,
  observation: Env.Prompt,
  action: Sampling.SampledTokens,
  step: Env.Step,
  times: Trajectory.TurnTimes | undefined
) => {
  const transition: Types.Mutable<Trajectory.Transition> = {
    observation: observation.input,
    action,
    reward: step.reward,
    trainable: (step.trainable ?? true) && action.maskedLogprobs === undefined,
    metrics: Score.withCorrect(step.score, step.metrics ?? nothing),
    logs: step.logs ?? nothing
  }
  if (step.score !== undefined) transition.score = step.score
  if (step.said !== undefined) transition.said = step.said
  if (step.state !== undefined) transition.state = step.state
  const { branch, messages, offered = Trajectory.nothingOffered } = observation
  const { conversations, offers } = progress
  if (messages !== undefined) {
    const added = Trajectory.addedMessages(continued(conversations, branch), messages)
    const before = continued(offers, branch) ?? Trajectory.nothingOffered
    transition.shown = Trajectory.isSameOffer(before, offered) ? added : { ...added, offered }
  }
  conversations.push(messages ?? conversations.at(-1))
  offers.push(messages === undefined ? offers.at(-1) : offered)
  if (branch !== undefined) transition.branch = branch
  if (times !== undefined) transition.times = times
  progress.transitions.push(transition)
  progress.stepReward += step.reward
  progress.sampledTokens += action.tokens.length
  progress.toolCalls += step.toolCalls ?? 0
  if (step._tag === "Continue") {
    if (action.stopReason === "length") progress.truncations++
    progress.observation = step.observation
  }
}

/**
 * Plays the turns of an episode. Before each turn, it checks the turn limit and the time, adds the hook's messages, and checks the token
 * budgets. The remaining budget caps the turn. `progress` records how far the episode came, however it ends.
 */
const play = Effect.fnUntraced(function*<E, R, PE, PR>(
  episode: Episode<E, R, PE, PR>
): Effect.fn.Return<Ending, Failure<E, PE>, R | PR> {
  const { env, hooks, key, limits, progress } = episode
  const { transitions } = progress
  const clock = yield* Clock.Clock
  const initial = yield* answered(episode, env.initialObservation)
  const unusable = wrongInitial(key, initial)
  if (unusable !== undefined) return yield* Effect.fail(stepFailed(unusable))
  if (initial._tag === "Overflow") {
    progress.stepReward = initial.reward
    const { stopReason: reason = "max_tokens" } = initial
    return { reason, graded: false, ...(initial.logs !== undefined && { logs: initial.logs }) }
  }
  let observation = progress.observation = initial
  while (true) {
    const isLate = limits.rolloutTimeout !== undefined
      && (yield* elapsed(episode)) >= Duration.toMillis(Duration.fromInputUnsafe(limits.rolloutTimeout))
    if (isLate || transitions.length >= (limits.maxTurns ?? Infinity)) {
      const reason = yield* consulted(episode, isLate ? "rollout_timeout" : "max_turns")
      if (Option.isSome(reason)) return { reason: reason.value, graded: false }
    }
    if (hooks !== undefined) observation = progress.observation = yield* beganTurn(episode, observation)
    const exhausted = Limits.exhausted(limits, observation.input.length, progress.sampledTokens)
    if (exhausted !== undefined) {
      const reason = yield* consulted(episode, exhausted)
      if (Option.isSome(reason)) return { reason: reason.value, graded: false }
    }
    const maxTokens = Limits.smaller(
      Limits.turnTokens(limits, observation.input.length, progress.sampledTokens),
      observation.maxTokens
    )
    const began = clock.currentTimeMillisUnsafe()
    const action = yield* sampled(episode, {
      prompt: observation.input,
      stop: observation.stop,
      key: { ...key, turn: transitions.length },
      ...(maxTokens !== undefined && { maxTokens }),
      ...(observation.grammar !== undefined && { grammar: observation.grammar })
    })
    const refused = wrongAction(key, action, maxTokens)
    if (refused !== undefined) return yield* Effect.fail(policyFailed(refused))
    const sampledAt = clock.currentTimeMillisUnsafe()
    const toolCallsLeft = limits.maxToolCalls === undefined ? undefined : limits.maxToolCalls - progress.toolCalls
    const step = yield* answered(episode, env.step(toolCallsLeft === undefined ? action : { ...action, toolCallsLeft }))
    const wrong = wrongStep(key, step, { toolCallsLeft, turns: transitions.length + 1 })
    if (wrong !== undefined) return yield* Effect.fail(stepFailed(wrong))
    record(progress, observation, action, step, timesOf(began, sampledAt, clock.currentTimeMillisUnsafe()))
    if (step._tag === "Continue") {
      observation = step.observation
      continue
    }
    if (step.stopReason === undefined) return { reason: undefined, graded: true }
    const reason = yield* consulted(episode, step.stopReason)
    if (Option.isSome(reason)) return { reason: reason.value, graded: true }
    observation = progress.observation = yield* shown(episode, "a hook that continues a finished episode", [])
  }
})

const trajectory = <E, R, PE, PR>(
  { env: { task }, progress: { stepReward, transitions, truncations } }: Episode<E, R, PE, PR>,
  ending: Ending
): Trajectory.Trajectory => ({
  transitions,
  stepReward,
  stopReason: Option.fromUndefinedOr(ending.reason),
  truncations,
  ...(task !== undefined && { task }),
  ...(ending.logs !== undefined && { logs: ending.logs })
})

const afterwards = Effect.fnUntraced(function*<E, R, PE, PR>(episode: Episode<E, R, PE, PR>, ending: Ending) {
  const at = yield* state(episode)
  const { onArtifacts, onGrade } = episode.hooks ?? {}
  if (ending.graded && onGrade !== undefined) yield* Effect.mapError(onGrade(at), hookFailed)
  if (onArtifacts !== undefined) yield* Effect.mapError(onArtifacts(at), hookFailed)
  return trajectory(episode, ending)
})

const bounds = <E, R>(env: Env.Env<E, R>, { limits }: Options<E, R>) => {
  if (env.limits === undefined) return limits ?? Limits.unlimited
  return limits === undefined ? env.limits : Limits.tighter(limits, env.limits)
}

const misuse = <E, R>(env: Env.Env<E, R>, key: Key.MemberKey, limits: Limits.Limits) => {
  const invalid = env.limits && wrongLimits(key, env.limits)
  if (invalid !== undefined) return invalid
  if (limits.maxToolCalls === undefined || env.countsToolCalls === true) return undefined
  return errorOf(key, new Unsupported({ asked: "limits.maxToolCalls", missing: "countsToolCalls" }))
}

const make = <E, R, PE, PR>(
  env: Env.Env<E, R>,
  policy: Policy.Policy<PE, PR>,
  key: Key.MemberKey,
  { hooks, limits }: { readonly hooks: Hooks<E, R> | undefined; readonly limits: Limits.Limits },
  startedAt: number
): Episode<E, R, PE, PR> => ({
  env,
  policy,
  key,
  limits,
  hooks,
  startedAt,
  progress: {
    transitions: [],
    conversations: [],
    offers: [],
    observation: undefined,
    stepReward: 0,
    sampledTokens: 0,
    toolCalls: 0,
    truncations: 0
  }
})

/** Plays the episode, then calls the environment's `leave` if it has one, even if playing failed. */
const playToEnd = <E, R, PE, PR>(episode: Episode<E, R, PE, PR>) =>
  episode.env.leave === undefined ? play(episode) : Effect.ensuring(play(episode), episode.env.leave)

/** Plays with hooks or a time limit, which need the clock. */
const runTimed = <E, R, PE, PR>(episode: Episode<E, R, PE, PR>) => {
  const { rolloutTimeout } = episode.limits
  const played = rolloutTimeout === undefined
    ? playToEnd(episode)
    : Effect.timeoutOrElse(playToEnd(episode), {
      duration: rolloutTimeout,
      orElse: () => Effect.succeed<Ending>({ reason: "rollout_timeout", graded: false })
    })
  return Effect.flatMap(played, (ending) => afterwards(episode, ending))
}

/** Plays an episode; each failure names the part that failed. */
export const run = <E, R, PE, PR>(
  env: Env.Env<E, R>,
  policy: Policy.Policy<PE, PR>,
  key: Key.MemberKey,
  options: Options<E, R>
): Effect.Effect<Trajectory.Trajectory, Failure<E, PE>, R | PR> =>
  Effect.suspend(() => {
    const { hooks } = options
    const limits = bounds(env, options)
    const wrong = limits === Limits.unlimited ? undefined : misuse(env, key, limits)
    if (wrong !== undefined) return Effect.fail(stepFailed(wrong))
    if (hooks !== undefined || limits.rolloutTimeout !== undefined) {
      return Effect.flatMap(Clock.currentTimeMillis, (now) => runTimed(make(env, policy, key, { hooks, limits }, now)))
    }
    const episode = make(env, policy, key, { hooks, limits }, 0)
    return Effect.map(playToEnd(episode), (ending) => trajectory(episode, ending))
  })
