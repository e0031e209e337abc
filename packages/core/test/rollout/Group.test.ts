import { EnvMetric, FailurePolicy, type Policy, Rollout } from "@effect-rl/core"
import type { GroupResult } from "@effect-rl/core/program"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Option } from "effect"
import { TestClock } from "effect/testing"
import * as Scripted from "./Scripted.ts"

const { always, done, inTime, next } = Scripted

const roll = (options: Scripted.GroupOptions, groupOptions?: Rollout.GroupOptions<Scripted.Broken>) =>
  Rollout.group(Scripted.group(options), Scripted.policy, groupOptions)

/** A group's total rewards, or the reason why it has none. */
const rewards = (result: GroupResult.GroupResult) =>
  result._tag === "Skipped" ? result.reason.message : Array.from(result.rewardsG)

const kinds: Record<GroupResult.FailureTag, Scripted.GroupOptions["env"]> = {
  AcquireFailed: () => Scripted.breaks("sandbox"),
  StepFailed: () => Scripted.failing(),
  GraderFailed: () => Scripted.env(),
  Ungraded: () => Scripted.ungraded,
  PolicyFailed: () => Scripted.env(),
  HookFailed: () => Scripted.env(),
  TimedOut: () => Scripted.hanging(),
  Died: () => Scripted.throwing
}
const failureTags: ReadonlyArray<GroupResult.FailureTag> = [
  "AcquireFailed",
  "StepFailed",
  "GraderFailed",
  "Ungraded",
  "PolicyFailed",
  "HookFailed",
  "TimedOut",
  "Died"
]

describe("a group that finishes", () => {
  it.effect("is complete: it has all members in order, with step and group totals", () =>
    Effect.gen(function*() {
      const result = yield* roll({
        size: 3,
        key: "sums/7",
        tags: ["sums"],
        env: (member) => Scripted.env(next(0.5), done(member)),
        groupRewards: (trajectories) =>
          Effect.succeed(trajectories.map(({ stepReward }) => ({
            reward: 10 * stepReward,
            metrics: { step: EnvMetric.mean(stepReward) }
          })))
      }, { samplerStep: 12 })
      assert.deepStrictEqual(
        { ...result, members: [] },
        {
          _tag: "Completed",
          iteration: 0,
          key: "sums/7",
          tags: ["sums"],
          samplerStep: 12,
          members: [],
          rewardsG: Float64Array.of(5.5, 16.5, 27.5),
          metricsG: [{ step: EnvMetric.mean(0.5) }, { step: EnvMetric.mean(1.5) }, { step: EnvMetric.mean(2.5) }],
          retried: []
        }
      )
    }))

  it.effect("does not need group rewards", () =>
    Effect.gen(function*() {
      const result = yield* roll({ size: 2, env: (member) => Scripted.env(done(member)) })
      assert.deepStrictEqual(rewards(result), [0, 1])
    }))

  it.effect("does not depend on the order in which members finish", () =>
    Effect.gen(function*() {
      const result = yield* inTime(roll({
        size: 4,
        env: (member) => Scripted.slow(1000 * ((member * 3) % 4), member),
        groupRewards: (trajectories) =>
          Effect.succeed(trajectories.map(({ stepReward }) => ({ reward: stepReward / 10 })))
      }))
      assert.deepStrictEqual(rewards(result), [0, 1.1, 2.2, 3.3])
    }))

  it.effect("plays its members concurrently", () =>
    Effect.gen(function*() {
      const rolling = roll({ size: 8, env: () => Scripted.slow(1000, 1) })
      const fiber = yield* Effect.forkChild(rolling)
      yield* TestClock.adjust("1 second")
      assert.isDefined(fiber.pollUnsafe())
    }))

  it.effect("gives every turn of every member a unique key", () =>
    Effect.gen(function*() {
      const keys: Array<Policy.Request["key"]> = []
      const policy: Policy.Policy = {
        act: ({ key }) => Effect.sync(() => keys.push(key)).pipe(Effect.as(Scripted.tokens(1)))
      }
      const builder = Scripted.group({
        size: 2,
        key: "sums/7",
        env: (member, attempt) => member === 1 && attempt === 0 ? Scripted.failing() : Scripted.env(next(0), done(0))
      })
      yield* Rollout.group(builder, policy, { iteration: 5, onFailure: always("abort", { times: 1 }) })
      const paths = keys.map(({ attempt, group, iteration, member, turn }) =>
        `${iteration} ${group} m${member} a${attempt} t${turn}`
      )
      assert.deepStrictEqual(paths.toSorted(), [
        "5 sums/7 m0 a0 t0",
        "5 sums/7 m0 a0 t1",
        "5 sums/7 m1 a0 t0",
        "5 sums/7 m1 a1 t0",
        "5 sums/7 m1 a1 t1"
      ])
    }))
})

describe("a member's failure, depending on its consequence,", () => {
  /** Member 1 of three, or the group's grader, fails in the given way; every other kind of failure would abort. */
  const withFailure = (failure: GroupResult.FailureTag, consequence: FailurePolicy.Consequence) =>
    inTime(Rollout.group(
      Scripted.group({
        size: 3,
        env: (member, attempt) => member === 1 ? kinds[failure](member, attempt) : Scripted.env(done(member)),
        groupRewards: (trajectories) =>
          failure === "GraderFailed"
            ? Scripted.breaks("grader")
            : Effect.succeed(trajectories.map(() => ({ reward: 0.5 })))
      }),
      {
        act: (request) =>
          failure === "PolicyFailed" && request.key.member === 1
            ? Scripted.breaks("policy")
            : Scripted.policy.act(request)
      },
      {
        onFailure: always("abort", { but: { [failure]: consequence } }),
        memberTimeout: "1 minute",
        hooks: {
          onGrade: ({ key }) => failure === "HookFailed" && key.member === 1 ? Scripted.breaks("hook") : Effect.void
        }
      }
    ))

  it.effect.each(failureTags)(
    "drops the member, or skips the group if its grader failed: %s",
    (failure) =>
      Effect.gen(function*() {
        const result = yield* withFailure(failure, "drop")
        if (failure === "GraderFailed") return assert.strictEqual(result._tag, "Skipped")
        assert.strictEqual(result._tag, "Partial")
        assert.deepStrictEqual(rewards(result), [0.5, NaN, 2.5])
        const dropped = result._tag === "Partial" ? result.dropped : []
        assert.deepStrictEqual(dropped.map((report) => [report.member, report.attempt, report.failure]), [[
          1,
          0,
          failure
        ]])
      })
  )

  it.effect.each(failureTags)("skips the group: %s", (failure) =>
    Effect.gen(function*() {
      const result = yield* withFailure(failure, "skip")
      assert.strictEqual(result._tag, "Skipped")
      assert.strictEqual(result._tag === "Skipped" ? result.reason.failure : "", failure)
    }))

  it.effect.each(failureTags)("aborts with its own error: %s", (failure) =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(withFailure(failure, "abort"))
      const said: Record<GroupResult.FailureTag, string> = {
        AcquireFailed: "sandbox broke",
        StepFailed: "step broke",
        GraderFailed: "grader broke",
        Ungraded: `group "group", member 1: the grader threw: Error: no sandbox`,
        PolicyFailed: "policy broke",
        HookFailed: "hook broke",
        TimedOut: `group "group", member 1: not finished within 1m`,
        Died: `iteration 1, group "group", member 1: TypeError`
      }
      assert.include(String(exit), said[failure])
      assert.strictEqual(Exit.hasDies(exit), failure === "Died")
    }))

  it.effect("aborts under failFast, and under dropUngraded for every kind but Ungraded", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(FailurePolicy.failFast.otherwise, always("abort").otherwise)
      assert.deepStrictEqual(
        FailurePolicy.dropUngraded.otherwise,
        always("abort", { but: { Ungraded: "drop" } }).otherwise
      )
      const error = yield* Effect.flip(roll({ size: 2, env: () => Scripted.failing() }))
      assert.strictEqual(error.message, "step broke")
    }))
})

describe("a group that loses members", () => {
  it.effect("is graded without them", () =>
    Effect.gen(function*() {
      const given: Array<number> = []
      const result = yield* roll({
        size: 5,
        env: (member) => member % 2 === 1 ? Scripted.failing(`member ${member}`) : Scripted.env(done(member)),
        groupRewards: (trajectories) => {
          given.push(...trajectories.map(({ stepReward }) => stepReward))
          return Effect.succeed(trajectories.map((_, index) => ({ reward: index * 100 })))
        }
      }, { onFailure: always("drop") })
      assert.deepStrictEqual(given, [0, 2, 4])
      assert.deepStrictEqual(rewards(result), [0, NaN, 102, NaN, 204])
      assert.deepStrictEqual(
        result._tag === "Partial" ? result.dropped : [],
        [
          { member: 1, attempt: 0, failure: "StepFailed", message: "member 1 broke" },
          { member: 3, attempt: 0, failure: "StepFailed", message: "member 3 broke" }
        ]
      )
      assert.deepStrictEqual(result._tag === "Partial" ? result.members.map(Option.isSome) : [], [
        true,
        false,
        true,
        false,
        true
      ])
    }))

  it.effect("is skipped without grading if no member is left", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const result = yield* roll({
        size: 2,
        key: "sums/7",
        tags: ["sums"],
        log,
        env: (member) => Scripted.failing(`member ${member}`),
        groupRewards: () => Effect.succeed([])
      }, { onFailure: always("drop") })
      assert.deepStrictEqual(result, {
        _tag: "Skipped",
        iteration: 0,
        key: "sums/7",
        tags: ["sums"],
        size: 2,
        reason: { member: 0, attempt: 0, failure: "StepFailed", message: "member 0 broke" },
        dropped: [
          { member: 0, attempt: 0, failure: "StepFailed", message: "member 0 broke" },
          { member: 1, attempt: 0, failure: "StepFailed", message: "member 1 broke" }
        ]
      })
      assert.notInclude(log, "grade")
    }))

  /** Members that fail in reverse order: the lowest member fails last. */
  const failsLate = (member: number) =>
    Scripted.env(Effect.delay(Scripted.breaks(`member ${member}`), 4000 - 1000 * member))

  it.effect("reports failures in the order of members and attempts, not of time", () =>
    Effect.gen(function*() {
      const fewer = yield* inTime(roll(
        { size: 4, env: (member) => member === 3 ? Scripted.env(done(1)) : failsLate(member) },
        { onFailure: always("drop") }
      ))
      assert.deepStrictEqual(fewer._tag === "Partial" ? fewer.dropped.map(({ member }) => member) : [], [0, 1, 2])
      const retried = yield* inTime(roll(
        { size: 3, env: (member, attempt) => attempt < 2 ? failsLate(member) : Scripted.env(done(1)) },
        { onFailure: always("drop", { times: 2 }) }
      ))
      assert.deepStrictEqual(
        retried._tag === "Completed" ? retried.retried.map(({ attempt, member }) => [member, attempt]) : [],
        [[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1]]
      )
      const none = yield* inTime(roll({ size: 3, env: failsLate }, { onFailure: always("drop") }))
      assert.strictEqual(none._tag === "Skipped" ? none.reason.message : "", "member 0 broke")
    }))

  it.effect("is skipped if it cannot be opened and the policy drops members", () =>
    Effect.gen(function*() {
      const result = yield* roll(
        { size: 2, env: () => Scripted.env(), opening: Scripted.breaks("coordinator") },
        { onFailure: always("drop") }
      )
      assert.deepStrictEqual(result._tag === "Skipped" ? result.reason : undefined, {
        member: -1,
        attempt: 0,
        failure: "AcquireFailed",
        message: "coordinator broke"
      })
    }))
})

describe("invalid group rewards", () => {
  const graded = (groupRewards: ReadonlyArray<number>) =>
    Effect.map(
      Effect.flip(roll({
        size: 2,
        env: () => Scripted.env(),
        groupRewards: () => Effect.succeed(groupRewards.map((reward) => ({ reward })))
      })),
      (error) => error.message
    )

  it.effect.each([0, 1, 3])("have %d values for two members", (count) =>
    Effect.gen(function*() {
      const message = yield* graded(Array.from({ length: count }, () => 1))
      assert.include(message, `groupRewards is ${count} rewards, expected one per trajectory (2)`)
    }))

  it.effect.each([NaN, Infinity])("have a non-finite value: %s", (reward) =>
    Effect.gen(function*() {
      assert.include(yield* graded([0, reward]), `groupRewards[1].reward is ${reward}, expected a finite number`)
    }))
})

it.effect.each([0, -1, 2.5, NaN])(
  "a group of %s members is refused under any policy",
  (size) =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(roll({ size, env: () => Scripted.env() }, { onFailure: always("drop") }))
      assert.include(error.message, `size of group "group" is ${size}, expected a whole number of at least 1`)
    })
)
