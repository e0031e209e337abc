/** The reward of an episode that ends at a limit. */
import { EnvMetric, FailurePolicy, Rollout } from "@effect-rl/core"
import { type StopReason, TerminationReward } from "@effect-rl/core/environments"
import type { GroupResult } from "@effect-rl/core/program"
import { assert, describe, it } from "@effect/vitest"
import { type Duration, Effect } from "effect"
import * as Scripted from "./Scripted.ts"

interface Member {
  readonly reason?: StopReason.StopReason
  readonly step?: number
  readonly grade: number
}

/** Members end in the given way, and the grader returns the given rewards. */
const roll = Effect.fnUntraced(function*(
  members: ReadonlyArray<Member>,
  termination?: TerminationReward.TerminationReward
) {
  let gradings = 0
  const builder = Scripted.group({
    size: members.length,
    env: (member) => {
      const { reason, step = 0 } = members[member] ?? {}
      return Scripted.env({ ...Scripted.done(step), ...(reason !== undefined && { stopReason: reason }) })
    },
    groupRewards: () =>
      Effect.sync(() => {
        gradings++
        return members.map(({ grade }) => ({ reward: grade }))
      })
  })
  const result = yield* Rollout.group(builder, Scripted.policy, termination === undefined ? {} : { termination })
  const group = result._tag === "Completed" ? result : undefined
  return { totals: Array.from(group?.rewardsG ?? []), flags: group?.metricsG ?? [], gradings }
})

const zero = { zeroRewardOnLimit: true }
const flagged = { zero_reward_on_limit: EnvMetric.rate(true) }
const completed: Member = { reason: "completed", grade: 0.5 }

describe("zeroRewardOnLimit", () => {
  it.effect.each(TerminationReward.limitStopReasons)(
    "sets the reward of an episode that ended with %s to 0",
    (reason) =>
      Effect.gen(function*() {
        const { flags, gradings, totals } = yield* roll([{ reason, grade: 0.7 }, completed], zero)
        assert.deepStrictEqual(totals, [0, 0.5])
        assert.deepStrictEqual(flags, [flagged, {}])
        assert.strictEqual(gradings, 1)
      })
  )

  it.effect("does not change rewards below 0", () =>
    Effect.gen(function*() {
      const { flags, totals } = yield* roll([{ reason: "max_turns", grade: -0.3 }, completed], zero)
      assert.deepStrictEqual(totals, [-0.3, 0.5])
      assert.deepStrictEqual(flags, [{}, {}])
    }))

  it.effect("sets the total to exactly 0, including step rewards", () =>
    Effect.gen(function*() {
      const { totals } = yield* roll([{ reason: "max_turns", step: 0.4, grade: 0.3 }, completed], zero)
      assert.deepStrictEqual(totals, [0, 0.5])
    }))

  it.effect("applies without a grader", () =>
    Effect.gen(function*() {
      const ending = { ...Scripted.done(0.9), stopReason: "max_tokens" } as const
      const builder = Scripted.group({ size: 2, env: () => Scripted.env(ending) })
      const result = yield* Rollout.group(builder, Scripted.policy, { termination: zero })
      assert.deepStrictEqual(result._tag === "Completed" ? Array.from(result.rewardsG) : [], [0, 0])
    }))

  it.effect("does not affect episodes that ended for another reason", () =>
    Effect.gen(function*() {
      const reasons = ["completed", "context_overflow", "parse_error", undefined] as const
      const members = reasons.map((reason) => ({ grade: 0.7, ...(reason !== undefined && { reason }) }))
      const { flags, totals } = yield* roll(members, zero)
      assert.deepStrictEqual(totals, [0.7, 0.7, 0.7, 0.7])
      assert.deepStrictEqual(flags, [{}, {}, {}, {}])
    }))

  it.effect("is off by default, and applies only to the listed stop reasons", () =>
    Effect.gen(function*() {
      const members: ReadonlyArray<Member> = [{ reason: "max_turns", grade: 0.7 }, { reason: "max_tokens", grade: 0.6 }]
      assert.deepStrictEqual((yield* roll(members)).totals, [0.7, 0.6])
      assert.deepStrictEqual((yield* roll(members, { zeroRewardOnLimit: false })).totals, [0.7, 0.6])
      const only = { ...zero, limitStopReasons: ["max_turns"] }
      assert.deepStrictEqual((yield* roll(members, only)).totals, [0, 0.6])
    }))

  it.effect("applies to a hook's stop reason if it is listed", () =>
    Effect.gen(function*() {
      const builder = Scripted.group({
        size: 1,
        env: () => Scripted.env({ ...Scripted.done(0.9), stopReason: "completed" })
      })
      const result = yield* Rollout.group(builder, Scripted.policy, {
        hooks: { onStopReason: () => Effect.succeedSome("gave up") },
        termination: { ...zero, limitStopReasons: ["gave up"] }
      })
      assert.deepStrictEqual(result._tag === "Completed" ? Array.from(result.rewardsG) : [], [0])
    }))

  it.effect("applies to the remaining members if one is dropped", () =>
    Effect.gen(function*() {
      const builder = Scripted.group({
        size: 3,
        env: (member) =>
          member === 0
            ? Scripted.failing()
            : Scripted.env({ ...Scripted.done(member), stopReason: member === 1 ? "max_turns" : "completed" })
      })
      const result = yield* Rollout.group(builder, Scripted.policy, {
        termination: zero,
        onFailure: FailurePolicy.minViableGroup({ minSuccessful: 1, maxRetries: 0 })
      })
      assert.deepStrictEqual(result._tag === "Partial" ? Array.from(result.rewardsG) : [], [NaN, 0, 2])
      assert.deepStrictEqual(result._tag === "Partial" ? result.metricsG : [], [{}, flagged, {}])
    }))
})

describe("skipGradingOnTimeout", () => {
  const late: Member = { reason: "rollout_timeout", step: 0.25, grade: 0.7 }
  const skip = { zeroRewardOnLimit: true, skipGradingOnTimeout: true }

  it.effect("does not grade a group whose members all timed out", () =>
    Effect.gen(function*() {
      const { gradings, totals } = yield* roll([late, late], skip)
      assert.strictEqual(gradings, 0)
      assert.deepStrictEqual(totals, [0, 0])
    }))

  it.effect("grades a group if a member finished or timeouts are not set to 0", () =>
    Effect.gen(function*() {
      const mixed = yield* roll([late, completed], skip)
      assert.strictEqual(mixed.gradings, 1)
      assert.deepStrictEqual(mixed.totals, [0, 0.5])
      const others: ReadonlyArray<TerminationReward.TerminationReward> = [
        { skipGradingOnTimeout: true },
        { zeroRewardOnLimit: true },
        { ...skip, limitStopReasons: ["max_turns"] }
      ]
      for (const termination of others) {
        const { gradings, totals } = yield* roll([late, late], termination)
        assert.strictEqual(gradings, 1)
        const clamped = termination.limitStopReasons === undefined && termination.zeroRewardOnLimit === true
        assert.deepStrictEqual(totals, clamped ? [0, 0] : [0.95, 0.95])
      }
    }))
})

describe("graderTimeout", () => {
  const slowly = (options: Rollout.GroupOptions, grading: Duration.Input = "5 seconds") =>
    Scripted.inTime(Rollout.group(
      Scripted.group({
        size: 1,
        env: () => Scripted.env(),
        groupRewards: () => Effect.delay(Effect.succeed([{ reward: 1 }]), grading)
      }),
      Scripted.policy,
      options
    ))

  const message = (result: GroupResult.GroupResult) => result._tag === "Skipped" ? result.reason.message : result._tag

  it.effect("skips a group if its grader takes longer", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        message(yield* slowly({ graderTimeout: "50 millis" })),
        `group "group": not graded within 50ms: raise graderTimeout, or bound what the grader waits for`
      )
    }))

  it.effect("defaults to memberTimeout, or ten minutes without one", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* slowly({}, "9 minutes"))._tag, "Completed")
      assert.include(message(yield* slowly({}, "11 minutes")), "not graded within 10m")
      assert.strictEqual((yield* slowly({ memberTimeout: "1 second", graderTimeout: "6 seconds" }))._tag, "Completed")
      assert.include(message(yield* slowly({ memberTimeout: "1 second" })), "not graded within 1s")
    }))
})
