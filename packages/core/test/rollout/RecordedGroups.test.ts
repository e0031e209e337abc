import { type Env, EnvMetric, FailurePolicy, type Policy, Rollout } from "@effect-rl/core"
import type { Trajectory } from "@effect-rl/core/environments"
import type { GroupResult } from "@effect-rl/core/program"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Logger, Option } from "effect"
import * as Recorded from "./Recorded.ts"
import * as Scripted from "./Scripted.ts"

const { tokens } = Scripted

/** The metrics in the form of the recorded groups. */
const reports = (metrics: Readonly<Record<string, number>>) =>
  Object.fromEntries(
    Object.entries(metrics).map(([name, value]) => [
      name,
      name === "zero_reward_on_limit" ? EnvMetric.rate(value === 1) : EnvMetric.mean(value)
    ])
  )

/** A recorded group as a builder, with the information that the recorded strategies need. */
const scripted = ({ input }: Recorded.Group) => {
  const playing = new Map<number, Recorded.Attempt>()
  const names = new Map<string, Recorded.Attempt>()
  const log: Array<string> = []
  const state = { begun: 0, finished: 0, retries: 0 }
  const begin = (member: number) => {
    const attempt = playing.has(member) ? input.retries[state.retries++] : input.members[member]
    if (attempt === undefined) return Effect.die(`no attempt was recorded for member ${member}`)
    state.begun++
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
        state.finished++
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
    log,
    env,
    groupRewards: Effect.fnUntraced(function*(trajectories) {
      yield* Effect.sleep(input.grading.seconds * 1000)
      if (input.grading.error !== null) return yield* Scripted.breaks(input.grading.error.error_message)
      const rewards = trajectories.map((trajectory) => {
        const attempt = attemptOf(trajectory)
        return { reward: attempt?.group_reward ?? NaN, metrics: reports(attempt?.group_metrics ?? {}) }
      })
      return input.grading.drops_last_member ? rewards.slice(0, -1) : rewards
    })
  })
  return { builder, policy, log, state, attemptOf }
}

/** The preset that corresponds to a recorded strategy. */
const failurePolicy = ({ input: { strategy } }: Recorded.Group): FailurePolicy.FailurePolicy => {
  switch (strategy.type) {
    case "FailFast":
      return FailurePolicy.failFast
    case "RetryOnFailure":
      return FailurePolicy.retryOnFailure({ maxRetries: strategy.max_retries })
    case "MinViableGroup":
      return FailurePolicy.minViableGroup({
        maxRetries: strategy.max_retries,
        ...(strategy.min_successful !== null && { minSuccessful: strategy.min_successful })
      })
  }
}

const termination = ({ input: { termination } }: Recorded.Group): Rollout.GroupOptions =>
  termination === null ? {} : {
    termination: {
      zeroRewardOnLimit: termination.zero_reward_on_limit,
      skipGradingOnTimeout: termination.skip_grading_on_timeout,
      ...(termination.limit_stop_reasons !== null && { limitStopReasons: termination.limit_stop_reasons })
    },
    ...(termination.grader_timeout_seconds !== null && { graderTimeout: termination.grader_timeout_seconds * 1000 })
  }

const messages = (result: GroupResult.GroupResult) => {
  if (result._tag === "Skipped") return []
  return [...result.retried, ...(result._tag === "Partial" ? result.dropped : [])]
    .map(({ failure, message }) => failure === "TimedOut" ? "" : message.slice(0, -" broke".length))
}

const rolled = Effect.fnUntraced(function*(recorded: Recorded.Group) {
  const { strategy } = recorded.input
  const script = scripted(recorded)
  const seconds = strategy.type === "FailFast" ? null : strategy.per_rollout_timeout_seconds
  const exit = yield* Effect.exit(Scripted.inTime(Rollout.group(script.builder, script.policy, {
    onFailure: failurePolicy(recorded),
    ...termination(recorded),
    ...(seconds !== null && { memberTimeout: seconds * 1000 })
  })))
  return { ...script, exit }
})

describe("a group with a strategy", () => {
  const finished = Recorded.groups.filter(({ expect }) => expect.outcome === "group")
  const stopped = Recorded.groups.filter(({ expect, input }) =>
    expect.outcome === "raised" && input.members.length > 0 && input.cleanup_error === null
  )

  it.effect.each(finished)("$id: $input.strategy.type finishes", (recorded) =>
    Effect.gen(function*() {
      const { attemptOf, exit, log, state } = yield* rolled(recorded)
      const { expect } = recorded
      if (expect.outcome === "raised") return
      const result = yield* exit
      assert.notStrictEqual(result._tag, "Skipped")
      const group = result._tag === "Skipped" ? undefined : result
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
      ) => ({ name, slot, turns, step_reward_sum, total_reward, group_metrics: reports(group_metrics), stop_reason }))
      assert.deepStrictEqual<unknown>(members, expected, "by slot, whoever finished first")
      assert.deepStrictEqual(
        messages(result).toSorted(),
        expect.rollout_errors.map(({ error_message }) => error_message).toSorted()
      )
      assert.strictEqual(log.includes("grade"), expect.graded)
      assert.strictEqual(1 + state.retries, expect.make_envs_calls)
    }))

  it.effect.each(stopped)("$id: $input.strategy.type does not finish", (recorded) =>
    Effect.gen(function*() {
      const { exit, log, state } = yield* rolled(recorded)
      const { expect, input: { strategy } } = recorded
      if (expect.outcome === "group") return
      assert.strictEqual(1 + state.retries, expect.make_envs_calls)
      assert.deepStrictEqual(log.filter((line) => line.startsWith("release")).length, state.begun, "before it is over")
      if (strategy.type === "FailFast") {
        assert.isTrue(Exit.isFailure(exit))
        return assert.include(String(exit), expect.error_message ?? "")
      }
      const result = yield* exit
      assert.strictEqual(result._tag, "Skipped", "what the training loop makes of it is what it is")
      const reason = result._tag === "Skipped" ? result.reason : undefined
      if (expect.error_type !== "AllTrajectoriesFailedError") {
        return assert.strictEqual(reason?.message, `${expect.error_message} broke`)
      }
      const floor = strategy.type === "MinViableGroup" ? strategy.min_successful : null
      assert.deepInclude(reason, {
        failure: "BelowFloor",
        finished: state.finished,
        floor: floor ?? Math.ceil(0.75 * recorded.input.members.length)
      })
    }))

  const [empty] = Recorded.groups.filter(({ input }) => input.members.length === 0)
  const [unclean] = Recorded.groups.filter(({ input }) => input.cleanup_error !== null)

  it.effect("an empty group is refused with an error that names it", () =>
    Effect.gen(function*() {
      if (empty === undefined) return assert.fail("not recorded")
      const { exit } = yield* rolled(empty)
      assert.include(String(exit), `size of group "group" is 0, expected a whole number of at least 1`)
    }))

  it.effect("a failing release does not hide a finished group", () => {
    const lines: Array<string> = []
    const logger = Logger.make(({ message }) => void lines.push(String(message)))
    return Effect.gen(function*() {
      if (unclean === undefined) return assert.fail("not recorded")
      const { builder, policy } = scripted(unclean)
      const broken = Effect.addFinalizer(() => Effect.die(new Error(unclean.input.cleanup_error?.error_message)))
      const result = yield* Scripted.inTime(
        Rollout.group({ ...builder, open: Effect.andThen(broken, builder.open) }, policy, {
          onFailure: FailurePolicy.retryOnFailure()
        })
      )
      assert.strictEqual(result._tag, "Completed")
      assert.deepStrictEqual(lines, ["a resource of an environment was not released"])
    }).pipe(Effect.provide(Logger.layer([logger])))
  })
})
