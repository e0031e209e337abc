/** Timeouts as the end of an episode, and as a failure of the part that took too long. */
import { type Env, FailurePolicy, type InvalidOption, type Policy, Rollout } from "@effect-rl/core"
import type { RolloutError } from "@effect-rl/core/program"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Option, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Scripted from "./Scripted.ts"
import * as Talk from "./Talk.ts"

const key = { iteration: 0, group: "sums/7", member: 1, attempt: 0 }

/** A policy that answers turn `t` after `millis[t]`, repeating the last delay; undefined means never. */
const answering = (...millis: ReadonlyArray<number | undefined>): Policy.Policy => ({
  act: ({ key }) => {
    const wait = millis[Math.min(key.turn, millis.length - 1)]
    return wait === undefined ? Effect.never : Effect.delay(Effect.succeed(Scripted.tokens(2)), wait)
  }
})

const play = (env: Env.Env<Scripted.Broken>, policy: Policy.Policy, options: Rollout.EpisodeOptions) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(Rollout.episode(env, policy, key, options))
    yield* TestClock.adjust("1 hour")
    return yield* Fiber.join(fiber)
  })

const goesOn = { reward: 0.25 }
const ends = { done: "completed", reward: 1 } as const

describe("rolloutTimeout", () => {
  it.effect("keeps the turns before the interrupted one", () =>
    Effect.gen(function*() {
      const trajectory = yield* play(Talk.make(goesOn), answering(1, undefined), {
        limits: { rolloutTimeout: "100 millis" }
      })
      assert.strictEqual(trajectory.transitions.length, 1)
      assert.strictEqual(trajectory.stepReward, 0.25)
      assert.deepStrictEqual(trajectory.stopReason, Option.some("rollout_timeout"))
    }))

  it.effect("drops the samples of an unfinished step", () =>
    Effect.gen(function*() {
      const env = Scripted.env(Scripted.next(0.5), Effect.never)
      const trajectory = yield* play(env, answering(1), { limits: { rolloutTimeout: "100 millis" } })
      assert.deepStrictEqual(trajectory.transitions.map(({ reward }) => reward), [0.5])
    }))

  it.effect("leaves an empty episode with reward 0 if it fires before the first turn", () =>
    Effect.gen(function*() {
      const env = { ...Scripted.env(), initialObservation: Effect.never }
      const trajectory = yield* play(env, answering(1), { limits: { rolloutTimeout: "100 millis" } })
      assert.deepStrictEqual(trajectory, {
        transitions: [],
        stepReward: 0,
        stopReason: Option.some("rollout_timeout"),
        truncations: 0
      })
    }))

  it.effect("is final: no hook is asked to continue, and artifacts are created", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const trajectory = yield* play(Talk.make(goesOn), answering(1, undefined), {
        limits: { rolloutTimeout: "100 millis" },
        hooks: {
          onStopReason: (reason) => Effect.sync(() => (asked.push(reason), Option.none())),
          onGrade: () => Effect.sync(() => void asked.push("grade")),
          onArtifacts: ({ transitions }) => Effect.sync(() => void asked.push(`artifacts of ${transitions.length}`))
        }
      })
      assert.deepStrictEqual(trajectory.stopReason, Option.some("rollout_timeout"))
      assert.deepStrictEqual(asked, ["artifacts of 1"])
    }))

  it.effect("does not include the time of hooks at the end", () =>
    Effect.gen(function*() {
      const trajectory = yield* play(Talk.make(ends), answering(1), {
        limits: { rolloutTimeout: "100 millis" },
        hooks: { onGrade: () => Effect.sleep("1 minute"), onArtifacts: () => Effect.sleep("1 minute") }
      })
      assert.deepStrictEqual(trajectory.stopReason, Option.some("completed"))
    }))

  it.effect("does not hide an environment's own timeout", () =>
    Effect.gen(function*() {
      const tool = Effect.timeoutOrElse(Effect.never, {
        duration: "10 millis",
        orElse: () => Scripted.breaks("tool in time")
      })
      const error = yield* Effect.flip(
        play(Scripted.env(Effect.andThen(tool, Effect.succeed(Scripted.done(1)))), answering(1), {
          limits: { rolloutTimeout: "100 millis", stepTimeout: "50 millis" }
        })
      )
      assert.strictEqual(error.message, "tool in time broke")
    }))

  /** A clock that advances without waiting, as if a step blocked the processor. */
  const busy = () => {
    let now = 0
    const clock: Clock.Clock = {
      currentTimeMillisUnsafe: () => now,
      currentTimeMillis: Effect.sync(() => now),
      currentTimeNanosUnsafe: () => BigInt(now) * 1_000_000n,
      currentTimeNanos: Effect.sync(() => BigInt(now) * 1_000_000n),
      monotonicTimeNanosUnsafe: () => BigInt(now) * 1_000_000n,
      monotonicTimeNanos: Effect.sync(() => BigInt(now) * 1_000_000n),
      sleep: () => Effect.never
    }
    const work = <A>(value: A) => Effect.sync(() => (now += 50, value))
    return { work, provide: Effect.provideService(Clock.Clock, clock) }
  }

  it.effect("ends an episode between two turns if a step blocked the thread", () =>
    Effect.gen(function*() {
      const { provide, work } = busy()
      const env = Scripted.env(work(Scripted.next(0.5)), work(Scripted.done(1)))
      const trajectory = yield* provide(
        Rollout.episode(env, Scripted.policy, key, { limits: { rolloutTimeout: "20 millis" } })
      )
      assert.strictEqual(trajectory.transitions.length, 1)
      assert.deepStrictEqual(trajectory.stopReason, Option.some("rollout_timeout"))
    }))

  it.effect("lets a hook continue an episode that ended between two turns", () =>
    Effect.gen(function*() {
      const { provide, work } = busy()
      const env = Scripted.env(work(Scripted.next(0.5)), work({ ...Scripted.done(1), stopReason: "completed" }))
      const trajectory = yield* provide(
        Rollout.episode(env, Scripted.policy, key, {
          limits: { rolloutTimeout: "20 millis" },
          hooks: {
            onStopReason: (reason) => Effect.succeed(reason === "completed" ? Option.some(reason) : Option.none())
          }
        })
      )
      assert.strictEqual(trajectory.transitions.length, 2)
      assert.deepStrictEqual(trajectory.stopReason, Option.some("completed"))
    }))
})

describe("a timeout names the part that took too long", () => {
  const reasonOf = (error: Scripted.Broken | InvalidOption.InvalidOption | RolloutError.RolloutError) =>
    error._tag === "RolloutError" ? error.reason._tag : error._tag

  it.effect.each([{}, { rolloutTimeout: "30 seconds" }] as const)(
    "a policy's turn, under %j",
    (limits) =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(
          play(Talk.make(goesOn), answering(1, 80), { limits: { ...limits, turnTimeout: "50 millis" } })
        )
        assert.strictEqual(reasonOf(error), "TurnTimedOut")
        assert.include(
          error.message,
          `member 1: the policy did not answer turn 1 within 50ms: raise limits.turnTimeout`
        )
      })
  )

  it.effect("an environment's step, first prompt or injection", () =>
    Effect.gen(function*() {
      const slow: ReadonlyArray<Env.Env<Scripted.Broken>> = [
        Scripted.hanging(),
        { ...Scripted.env(), initialObservation: Effect.never },
        { ...Talk.make(goesOn), inject: () => Effect.never }
      ]
      for (const env of slow) {
        const error = yield* Effect.flip(play(env, answering(1), {
          limits: { stepTimeout: "50 millis", turnTimeout: "1 minute" },
          hooks: { onTurnBegin: () => Effect.succeed(env.inject === undefined ? [] : [{ role: "user", content: [] }]) }
        }))
        assert.strictEqual(reasonOf(error), "StepTimedOut")
      }
    }))

  const failure = (options: Rollout.GroupOptions<Scripted.Broken>, seconds: { step?: number; grade?: number }) =>
    Scripted.inTime(Effect.flip(Rollout.group(
      Scripted.group({
        size: 1,
        env: () => Scripted.slow(1000 * (seconds.step ?? 0)),
        groupRewards: (trajectories) =>
          Effect.delay(Effect.succeed(trajectories.map(() => ({ reward: 0 }))), 1000 * (seconds.grade ?? 0))
      }),
      Scripted.policy,
      options
    )))

  it.effect("a member, a grader, or an environment's step", () =>
    Effect.gen(function*() {
      assert.strictEqual(reasonOf(yield* failure({ memberTimeout: "2 seconds" }, { step: 5 })), "MemberTimedOut")
      const strict = {
        memberTimeout: "6 seconds",
        graderTimeout: "2 seconds",
        onFailure: FailurePolicy.failFast
      } as const
      assert.strictEqual(reasonOf(yield* failure(strict, { step: 5, grade: 5 })), "GraderTimedOut")
      assert.strictEqual(
        reasonOf(yield* failure({ memberTimeout: "3 seconds", limits: { stepTimeout: "2 seconds" } }, { step: 5 })),
        "StepTimedOut"
      )
    }))

  it.effect("an episode, which does not fail", () =>
    Effect.gen(function*() {
      const result = yield* Scripted.inTime(Rollout.group(
        Scripted.group({ size: 2, env: (member) => Scripted.slow(1000 + 9000 * member, 1) }),
        Scripted.policy,
        { limits: { rolloutTimeout: "2 seconds" }, memberTimeout: "3 seconds" }
      ))
      assert.deepStrictEqual(result._tag === "Completed" ? Array.from(result.rewardsG) : [], [1, 0])
    }))

  it.effect("a whole group, which is skipped under any failure policy while others continue", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const builders = [
        Scripted.group({ key: "hangs", size: 2, log, env: () => Scripted.hanging() }),
        Scripted.group({ key: "ends", size: 1, env: () => Scripted.slow(1000, 1) })
      ]
      const options = { groupTimeout: "1 minute", onFailure: FailurePolicy.failFast } as const
      const results = yield* Scripted.inTime(Stream.runCollect(Rollout.stream(builders, Scripted.policy, options)))
      assert.deepStrictEqual(results.map(({ _tag, key }) => [key, _tag]), [["hangs", "Skipped"], ["ends", "Completed"]])
      assert.deepInclude(results[0], {
        size: 2,
        reason: {
          member: -1,
          attempt: 0,
          failure: "TimedOut",
          message: "not finished within 1m: raise groupTimeout, or bound what the group waits for"
        }
      })
      assert.deepStrictEqual(log.slice(-3).toSorted(), ["close", "release 0.0", "release 1.0"])
    }))

  it.effect.each(["limits.turnTimeout", "graderTimeout", "releaseTimeout"])(
    "a time limit that is not above 0 is refused: %s",
    (field) =>
      Effect.gen(function*() {
        const error = yield* failure(
          field === "limits.turnTimeout" ? { limits: { turnTimeout: -1 } } : { [field]: -1 },
          {}
        )
        assert.strictEqual(error.message, `${field} is -1, expected a time above 0, such as "2 minutes"`)
      })
  )
})
