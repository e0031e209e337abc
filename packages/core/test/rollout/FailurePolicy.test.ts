/** The effect of a member's failure on its group, by failure policy. */
import { FailurePolicy, Rollout } from "@effect-rl/core"
import { type GroupResult, RolloutError } from "@effect-rl/core/program"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Scripted from "./Scripted.ts"

const { done } = Scripted

type Env = Scripted.GroupOptions["env"]

const roll = (size: number, env: Env, options: Rollout.GroupOptions, log: Array<string> = []) =>
  Scripted.inTime(Rollout.group(Scripted.group({ size, env, log }), Scripted.policy, options))

const acquisitions = (log: ReadonlyArray<string>) => log.filter((line) => line.startsWith("acquire")).length

const rewards = (result: GroupResult.GroupResult) => result._tag === "Skipped" ? [] : Array.from(result.rewardsG)

const reasonOf = (result: GroupResult.GroupResult) => result._tag === "Skipped" ? result.reason : undefined

/** The given members fail after their delays, and the others succeed after one second. By default retries succeed too. */
const failing =
  (failures: Readonly<Record<number, number>>, retries: "succeed" | "fail" = "succeed"): Env => (member, attempt) => {
    const millis = failures[member]
    if (millis === undefined || (attempt > 0 && retries === "succeed")) return Scripted.slow(1000, member)
    return Scripted.env(Effect.delay(Scripted.breaks(`member ${member}.${attempt}`), millis))
  }

describe("FailurePolicy.failFast", () => {
  it.effect("fails with the first failure's original error", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(roll(3, failing({ 0: 900, 2: 100 }), {}))
      assert.strictEqual(error.message, "member 2.0 broke")
    }))

  it.effect("completes a group without failures", () =>
    Effect.gen(function*() {
      const result = yield* roll(3, failing({}), {})
      assert.deepInclude(result, { _tag: "Completed", retried: [] })
      assert.deepStrictEqual(rewards(result), [0, 1, 2])
    }))
})

describe("FailurePolicy.retryOnFailure", () => {
  it.effect("acquires one additional member for a failed one", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const result = yield* roll(2, failing({ 1: 10 }), { onFailure: FailurePolicy.retryOnFailure() }, log)
      assert.deepStrictEqual(rewards(result), [0, 1])
      assert.deepStrictEqual(result._tag === "Completed" ? result.retried : [], [
        { member: 1, attempt: 0, failure: "StepFailed", message: "member 1.0 broke" }
      ])
      assert.deepStrictEqual(log.filter((line) => line.startsWith("acquire")), [
        "acquire 0.0",
        "acquire 1.0",
        "acquire 1.1"
      ])
    }))

  it.effect.each([3, 2, 0])(
    "skips the group after %i retries of all members together",
    (maxRetries) =>
      Effect.gen(function*() {
        const log: Array<string> = []
        const env = failing({ 0: 100, 1: 130 }, "fail")
        const result = yield* roll(3, env, { onFailure: FailurePolicy.retryOnFailure({ maxRetries }) }, log)
        const reason = reasonOf(result)
        assert.strictEqual(reason?.failure, "StepFailed")
        assert.strictEqual(acquisitions(log), 3 + maxRetries)
        assert.strictEqual(log.filter((line) => line.startsWith("release")).length, 3 + maxRetries)
      })
  )

  it.effect("interrupts the other members and keeps no part of the group", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const env: Env = (member, attempt) => member === 0 ? failing({ 0: 10 }, "fail")(0, attempt) : Scripted.hanging()
      const result = yield* roll(3, env, { onFailure: FailurePolicy.retryOnFailure({ maxRetries: 1 }) }, log)
      assert.deepStrictEqual(reasonOf(result), {
        member: 0,
        attempt: 1,
        failure: "StepFailed",
        message: "member 0.1 broke"
      })
      assert.deepStrictEqual(log.slice(-3).toSorted(), ["close", "release 1.0", "release 2.0"])
    }))

  it.effect("retries immediately, with the key of the next attempt", () =>
    Effect.gen(function*() {
      const attempts: Array<number> = []
      const builder = Scripted.group({
        size: 1,
        env: (_, attempt) => attempt < 2 ? Scripted.failing() : Scripted.env(done(1))
      })
      yield* Rollout.group(builder, {
        act: ({ key }) => Effect.sync(() => (attempts.push(key.attempt), Scripted.tokens(1)))
      }, { onFailure: FailurePolicy.retryOnFailure() })
      assert.deepStrictEqual(attempts, [0, 1, 2])
    }))

  it.effect("does not treat an interruption as a failure", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const builder = Scripted.group({ size: 2, log, env: () => Scripted.env() })
      const exit = yield* Effect.exit(Rollout.group(builder, { act: () => Effect.interrupt }, {
        onFailure: FailurePolicy.retryOnFailure()
      }))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
      assert.notInclude(log, "acquire 0.1")
    }))

  it.effect("reports a retry whose acquisition failed", () =>
    Effect.gen(function*() {
      const env: Env = (member, attempt) =>
        attempt === 1 ? Scripted.breaks("sandbox") : failing({ 0: 10 }, "fail")(member, attempt)
      const result = yield* roll(1, env, { onFailure: FailurePolicy.retryOnFailure({ maxRetries: 1 }) })
      assert.deepInclude(reasonOf(result), { attempt: 1, failure: "AcquireFailed", message: "sandbox broke" })
    }))

  it.effect("leaves no member running after its caller is interrupted", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      let steps = 0
      const counted = Effect.as(Effect.delay(Effect.sync(() => steps++), 100), Scripted.next(0))
      const env: Env = (member, attempt) =>
        member === 0 && attempt === 0
          ? failing({ 0: 10 })(0, 0)
          : Scripted.env(...Array.from({ length: 99 }, () => counted))
      const builder = Scripted.group({ size: 3, env, log })
      const fiber = yield* Effect.forkChild(
        Rollout.group(builder, Scripted.policy, { onFailure: FailurePolicy.retryOnFailure() })
      )
      yield* TestClock.adjust("150 millis")
      yield* Fiber.interrupt(fiber)
      const before = steps
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(steps, before)
      assert.strictEqual(log.filter((line) => line.startsWith("release")).length, acquisitions(log))
    }))
})

describe("FailurePolicy.minViableGroup", () => {
  const viable = FailurePolicy.minViableGroup

  it.effect("drops a failed member once enough have finished or no retry is left", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const onFailure = viable({ minSuccessful: 3, maxRetries: 1 })
      const result = yield* roll(4, failing({ 3: 10 }, "fail"), { onFailure }, log)
      assert.strictEqual(result._tag, "Partial")
      assert.deepStrictEqual(rewards(result), [0, 1, 2, NaN])
      const [retried, dropped] = result._tag === "Partial" ? [result.retried, result.dropped] : []
      assert.deepStrictEqual(retried?.map(({ attempt }) => attempt), [0])
      assert.deepStrictEqual(dropped?.map(({ attempt }) => attempt), [1])
      assert.strictEqual(acquisitions(log), 5)
    }))

  it.effect("does not retry after enough members have finished", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const result = yield* roll(4, failing({ 3: 2000 }), { onFailure: viable({ minSuccessful: 3 }) }, log)
      assert.strictEqual(result._tag, "Partial")
      assert.strictEqual(acquisitions(log), 4)
    }))

  it.effect("completes a group without failures or with only retried failures", () =>
    Effect.gen(function*() {
      const sound = yield* roll(4, failing({}), { onFailure: viable() })
      assert.deepInclude(sound, { _tag: "Completed", retried: [] })
      const restored = yield* roll(4, failing({ 2: 10 }), { onFailure: viable() })
      assert.strictEqual(restored._tag, "Completed")
      assert.deepStrictEqual(rewards(restored), [0, 1, 2, 3], "by member, although it finished last")
      assert.lengthOf(restored._tag === "Completed" ? restored.retried : [], 1)
    }))

  it.effect("skips a group below the minimum, with both numbers in the reason", () =>
    Effect.gen(function*() {
      const result = yield* roll(4, failing({ 1: 10, 2: 20 }), {
        onFailure: viable({ minSuccessful: 3, maxRetries: 0 })
      })
      assert.deepStrictEqual(result, {
        _tag: "Skipped",
        iteration: 0,
        key: "group",
        tags: [],
        size: 4,
        reason: {
          failure: "BelowFloor",
          finished: 2,
          floor: 3,
          message: "2 of 4 members finished, 3 must"
        },
        dropped: [
          { member: 1, attempt: 0, failure: "StepFailed", message: "member 1.0 broke" },
          { member: 2, attempt: 0, failure: "StepFailed", message: "member 2.0 broke" }
        ]
      })
    }))

  it.effect.each([[1, 1], [2, 2], [4, 3], [5, 4], [8, 6], [16, 12]] as const)(
    "of %i members %i must finish by default",
    ([size, floor]) =>
      Effect.gen(function*() {
        const losing = (count: number) =>
          roll(size, failing(Object.fromEntries(Array.from({ length: count }, (_, member) => [member, 10])), "fail"), {
            onFailure: viable({ maxRetries: 0 })
          })
        assert.notStrictEqual((yield* losing(size - floor))._tag, "Skipped")
        assert.deepInclude(reasonOf(yield* losing(size - floor + 1)), {
          failure: "BelowFloor",
          finished: floor - 1,
          floor
        })
      })
  )

  it.effect.each([[1, "Partial"], [2, "Skipped"]] as const)(
    "drops a hanging member if %i of two must finish",
    ([minSuccessful, expected]) =>
      Effect.gen(function*() {
        const env: Env = (member) => member === 1 ? Scripted.hanging() : Scripted.env(done(1))
        const onFailure = viable({ minSuccessful, maxRetries: 0 })
        const result = yield* roll(2, env, { onFailure, memberTimeout: "50 millis" })
        assert.strictEqual(result._tag, expected)
        assert.deepStrictEqual(
          result._tag === "Completed" ? [] : result.dropped.map(({ failure, member }) => [member, failure]),
          [[1, "TimedOut"]]
        )
      })
  )

  it.effect.each([0, 3, 1.5])(
    "is refused with a minimum of %s for two members",
    (minSuccessful) =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(roll(2, failing({}), { onFailure: viable({ minSuccessful }) }))
        assert.include(
          error.message,
          `onFailure.minSuccessful is ${minSuccessful}, expected a whole number from 1 to 2`
        )
      })
  )

  it.effect.each([NaN, -1])("is refused with %s retries", (maxRetries) =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(roll(2, failing({ 0: 1 }), { onFailure: viable({ maxRetries }) }))
      assert.include(error.message, `onFailure.maxRetries is ${maxRetries}, expected a number of at least 0`)
    }))

  it.effect("retries coupled members together; all of them must finish", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const builder = Scripted.group({ size: 2, coupled: true, log, env: failing({ 1: 10 }) })
      const result = yield* Scripted.inTime(
        Rollout.group(builder, Scripted.policy, { onFailure: viable({ minSuccessful: 1, maxRetries: 1 }) })
      )
      assert.strictEqual(result._tag, "Completed")
      assert.strictEqual(acquisitions(log), 4)
    }))
})

describe("the presets of FailurePolicy", () => {
  const presets = [FailurePolicy.failFast, FailurePolicy.retryOnFailure(), FailurePolicy.minViableGroup()]

  it("define a consequence for every kind of failure", () => {
    for (const { otherwise } of presets) {
      assert.sameMembers(Object.keys(otherwise), Object.keys(FailurePolicy.failFast.otherwise))
    }
    assert.deepStrictEqual(presets.map(({ maxRetries }) => maxRetries), [undefined, 3, 3])
  })

  it.effect("do not retry a grader, since it would see the same members", () =>
    Effect.forEach(presets.slice(1), (onFailure) =>
      Effect.gen(function*() {
        for (const grading of [Scripted.breaks("grader"), Effect.never]) {
          let asked = 0
          const builder = Scripted.group({
            size: 2,
            env: () => Scripted.env(done(1)),
            groupRewards: () => Effect.suspend(() => (asked++, grading))
          })
          const result = yield* Scripted.inTime(
            Rollout.group(builder, Scripted.policy, { onFailure, graderTimeout: "5 seconds" })
          )
          assert.strictEqual(result._tag, "Skipped")
          assert.strictEqual(asked, 1)
        }
      })))
})

it.effect("a RolloutError survives encoding and decoding", () =>
  Effect.gen(function*() {
    const codec = Schema.toCodecJson(RolloutError.RolloutError)
    const errors = [
      yield* Effect.flip(roll(1, () => Scripted.hanging(), { memberTimeout: "1 second" })),
      yield* Effect.flip(roll(1, () => Scripted.hanging(), { limits: { stepTimeout: "1 second" } }))
    ]
    for (const error of errors) {
      if (error._tag !== "RolloutError") return assert.fail(error.message)
      const written = yield* Schema.encodeEffect(codec)(error)
      assert.deepStrictEqual(yield* Schema.decodeEffect(codec)(JSON.parse(JSON.stringify(written))), error)
    }
  }))

it.effect("a group's total rewards are NaN for members that did not finish", () =>
  Effect.gen(function*() {
    const builder = Scripted.group({
      size: 3,
      env: (member, attempt) => attempt === 0 || member === 2 ? Scripted.failing() : Scripted.env(done(1)),
      groupRewards: () => Effect.succeed([{ reward: 0.5 }, { reward: 0.3 }])
    })
    const result = yield* Rollout.group(builder, Scripted.policy, { onFailure: Scripted.always("drop", { times: 1 }) })
    assert.deepStrictEqual(rewards(result), [1.5, 1.3, NaN])
  }))
