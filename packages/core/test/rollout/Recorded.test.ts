import {
  Env,
  FailurePolicy,
  type GroupResult,
  Message,
  Metric,
  ModelInput,
  type Policy,
  ProblemEnv,
  type Renderer,
  Rollout,
  type Trajectory
} from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Option, Schedule } from "effect"
import * as Recorded from "./Recorded.ts"
import * as Scripted from "./Scripted.ts"

const { stop, tokens } = Scripted

const means = (metrics: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(metrics).map(([name, value]) => [name, Metric.mean(value)]))

const key = { iteration: 0, group: "recorded", member: 0, attempt: 0 }

/** Answers as recorded, the last answer again and again. */
const answering = (answers: ReadonlyArray<{ num_tokens: number; stop_reason: "stop" | "length" }>) => {
  const calls: Array<Policy.Request> = []
  const policy: Policy.Policy = {
    act: (request) => {
      const answer = answers[Math.min(calls.length, answers.length - 1)]
      calls.push(request)
      return Effect.succeed(tokens(answer?.num_tokens ?? 0, answer?.stop_reason))
    }
  }
  return { policy, calls }
}

const asRecorded = (trajectory: Trajectory.Trajectory) =>
  trajectory.transitions.map(({ action, observation, reward }) => ({
    ob_length: observation.length,
    action_length: action.tokens.length,
    action_stop_reason: action.stopReason,
    reward
  }))

describe("one episode", () => {
  const tokenEnv = ({ input }: Recorded.TokenEnv): Env.Env => {
    let length = input.env.initial.ob_length
    let turn = 0
    return {
      initialObservation: Effect.succeed(Env.prompt(ModelInput.fromTokens(new Int32Array(length)), stop)),
      step: (action) => {
        const step = input.env.steps[Math.min(turn++, input.env.steps.length - 1)]
        length += action.tokens.length + (step?.growth ?? 0)
        const reward = step?.reward ?? NaN
        return Effect.succeed(
          step?.done === true
            ? { _tag: "Done", reward }
            : { _tag: "Continue", reward, observation: Env.prompt(ModelInput.fromTokens(new Int32Array(length)), stop) }
        )
      }
    }
  }

  it.effect.each(Recorded.tokenEnvs)("$id: tokens in, tokens out", (recorded) =>
    Effect.gen(function*() {
      const { calls, policy } = answering(recorded.input.policy)
      const trajectory = yield* Rollout.episode(tokenEnv(recorded), policy, key)
      assert.deepStrictEqual(
        asRecorded(trajectory),
        recorded.expect.transitions.map(({ action_length, action_stop_reason, ob_length, reward }) => ({
          ob_length,
          action_length,
          action_stop_reason,
          reward
        }))
      )
      assert.deepStrictEqual(
        calls.map((call) => ({ ob_length: call.prompt.length, stop: call.stop })),
        recorded.expect.policy_calls.map(({ ob_length, stop }) => ({ ob_length, stop }))
      )
    }))

  const renderer = ({ input }: Recorded.ProblemEnv): Renderer.Renderer => {
    const [parsed] = input.env.parses
    return {
      name: "recorded",
      stop,
      hasExtensionProperty: true,
      generationPrompt: (messages) =>
        Effect.succeed(ModelInput.fromTokens(
          new Int32Array(
            1 + messages.reduce((length, message) => length + 1 + Message.text(message).split(" ").length, 0)
          )
        )),
      parse: () =>
        Effect.succeed({
          message: Message.assistant(parsed?.content ?? ""),
          termination: parsed?.termination ?? "malformed"
        }),
      supervisedExample: () => Effect.die("not part of a rollout")
    }
  }

  it.effect.each(Recorded.problemEnvs)("$id: one question", (recorded) =>
    Effect.gen(function*() {
      const { env } = recorded.input
      const { policy } = answering(recorded.input.policy)
      const problem = ProblemEnv.make({
        model: { renderer: renderer(recorded) },
        question: env.question,
        referenceAnswer: "",
        checkAnswer: () => env.answer_is_correct,
        checkFormat: () => env.format_is_valid,
        formatCoef: env.format_coef,
        requireStopSequence: env.require_stop_sequence_for_format
      })
      const trajectory = yield* Rollout.episode(problem, policy, key)
      const [expected] = recorded.expect.transitions
      assert.strictEqual(trajectory.transitions.length, 1)
      assert.strictEqual(trajectory.transitions[0]?.observation.length, expected?.ob_length)
      assert.closeTo(trajectory.stepReward, expected?.reward ?? NaN, 1e-12)
      assert.deepStrictEqual(trajectory.transitions[0]?.metrics, {
        format: Metric.rate(expected?.metrics["format"] === 1),
        correct: Metric.rate(expected?.metrics["correct"] === 1)
      })
      const isCut = recorded.input.policy[0]?.stop_reason === "length"
      assert.deepStrictEqual(
        trajectory.stopReason,
        Option.some(isCut ? "max_tokens" : "completed"),
        "where none was recorded, the reason is said"
      )
    }))
})

/** One recorded group as a builder, with what the recorded strategies look at. */
const scripted = ({ input }: Recorded.Group) => {
  const playing = new Map<number, Recorded.Attempt>()
  const names = new Map<string, Recorded.Attempt>()
  const state = { successes: 0, retries: 0 }
  const begin = (member: number) => {
    const attempt = playing.has(member) ? input.retries[state.retries++] : input.members[member]
    if (attempt === undefined) return Effect.die(`no attempt was recorded for member ${member}`)
    playing.set(member, attempt)
    names.set(attempt.name, attempt)
    return Effect.succeed(attempt)
  }
  const fault = (attempt: Recorded.Attempt, at: "initial_observation" | "policy" | "step", turn: number) =>
    attempt.fails?.at === at && attempt.fails.turn === turn
      ? Effect.fail(new Scripted.Broken({ what: attempt.fails.error_message }))
      : Effect.void
  const env = Effect.fnUntraced(function*(member: number) {
    const attempt = yield* begin(member)
    let turn = 0
    return {
      initialObservation: Effect.delay(fault(attempt, "initial_observation", 0), attempt.start_seconds * 1000).pipe(
        Effect.as(Scripted.prompt(3))
      ),
      step: Effect.fnUntraced(function*() {
        const at = turn++
        yield* Effect.delay(fault(attempt, "step", at), attempt.turn_seconds * 1000)
        const step = { reward: attempt.turns[at]?.reward ?? NaN, logs: { name: attempt.name } }
        if (turn < attempt.turns.length) return { ...Scripted.next(0), ...step }
        state.successes++
        const { stop_reason } = attempt
        return { ...Scripted.done(0), ...step, ...(stop_reason !== null && { stopReason: stop_reason }) }
      })
    } satisfies Env.Env<Scripted.Broken>
  })
  const policy: Policy.Policy<Scripted.Broken> = {
    act: Effect.fnUntraced(function*({ key }) {
      const attempt = playing.get(key.member)
      if (attempt !== undefined) yield* fault(attempt, "policy", key.turn)
      return tokens(attempt?.turns[key.turn]?.action_length ?? 0)
    })
  }
  const attemptOf = (trajectory: Trajectory.Trajectory) =>
    names.get(String(trajectory.transitions.at(-1)?.logs["name"]))
  const builder = Scripted.group({
    size: input.members.length,
    env,
    groupRewards: Effect.fnUntraced(function*(trajectories) {
      yield* Effect.sleep(input.grading.seconds * 1000)
      if (input.grading.error !== null) yield* Scripted.breaks(input.grading.error.error_message)
      const rewards = trajectories.map((trajectory) => {
        const attempt = attemptOf(trajectory)
        return { reward: attempt?.group_reward ?? NaN, metrics: means(attempt?.group_metrics ?? {}) }
      })
      return input.grading.drops_last_member ? rewards.slice(0, -1) : rewards
    })
  })
  return { builder, policy, state, attemptOf }
}

const floor = (strategy: Recorded.Strategy, size: number) =>
  strategy.type === "MinViableGroup" ? strategy.min_successful ?? Math.ceil(0.75 * size) : size

/** The recorded strategies as failure policies: one budget of retries for the whole group. */
const failurePolicy = (
  { input: { members, strategy } }: Recorded.Group,
  state: { readonly successes: number; readonly retries: number }
): FailurePolicy.FailurePolicy => {
  if (strategy.type === "FailFast") return FailurePolicy.failFast
  const retry = Schedule.identity<FailurePolicy.Failure>().pipe(
    Schedule.while(({ input }) =>
      input._tag !== "GraderFailed"
      && state.retries < strategy.max_retries
      && state.successes < floor(strategy, members.length)
    )
  )
  const consequence = strategy.type === "RetryOnFailure" ? "abort" : "drop"
  return { retry, otherwise: Scripted.always(consequence, { but: { GraderFailed: "abort" } }).otherwise }
}

const messages = (result: GroupResult.GroupResult) => {
  if (result._tag === "Skipped") return []
  return [...result.retried, ...(result._tag === "Partial" ? result.dropped : [])]
    .map(({ failure, message }) => failure === "TimedOut" ? "" : message.slice(0, -" broke".length))
}

describe("a group under a strategy", () => {
  it.effect.each(Recorded.groups)("$id: $input.strategy.type", (recorded) =>
    Effect.gen(function*() {
      const { input, expect } = recorded
      const { attemptOf, builder, policy, state } = scripted(recorded)
      const seconds = input.strategy.type === "FailFast" ? null : input.strategy.per_rollout_timeout_seconds
      const exit = yield* Effect.exit(Scripted.inTime(Rollout.group(builder, policy, {
        onFailure: failurePolicy(recorded, state),
        ...(seconds !== null && { memberTimeout: seconds * 1000 })
      })))
      if (expect.outcome === "raised" && expect.error_type !== "AllTrajectoriesFailedError") {
        assert.isTrue(Exit.isFailure(exit))
        return assert.include(String(exit), expect.error_message ?? "")
      }
      const result = yield* exit
      const group = result._tag === "Skipped" ? undefined : result
      if (expect.outcome === "raised") {
        assert.isBelow(state.successes, floor(input.strategy, input.members.length))
        return assert.notStrictEqual(result._tag, "Completed", "too few members are a value, not an error")
      }
      const members = (group?.members ?? []).flatMap((member, slot) =>
        Option.isNone(member) ? [] : [{
          name: attemptOf(member.value)?.name,
          slot,
          turns: member.value.transitions.length,
          step_reward_sum: member.value.stepReward,
          total_reward: group?.rewardsG[slot],
          group_metrics: group?.metricsG[slot],
          stop_reason: Option.getOrNull(member.value.stopReason)
        }]
      )
      const expected = expect.members.toSorted((left, right) => left.slot - right.slot).map((
        { group_metrics, name, slot, step_reward_sum, stop_reason, total_reward, turns }
      ) => ({ name, slot, turns, step_reward_sum, total_reward, group_metrics: means(group_metrics), stop_reason }))
      assert.deepStrictEqual<unknown>(members, expected, "by slot, whoever finished first")
      assert.deepStrictEqual(
        messages(result).toSorted(),
        expect.rollout_errors.map(({ error_message }) => error_message).toSorted()
      )
      assert.strictEqual(1 + state.retries, expect.make_envs_calls)
    }))
})
