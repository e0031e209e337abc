/** Resources that are not released in time are reported, but never replace the result. */
import { FailurePolicy, Rollout } from "@effect-rl/core"
import type { GroupResult } from "@effect-rl/core/program"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Logger } from "effect"
import { TestClock } from "effect/testing"
import * as Scripted from "./Scripted.ts"

const { done } = Scripted

/** Rolls out a group in which some members' release hangs and the others' works. */
const roll = (
  stuck: (member: number) => boolean,
  options: Rollout.GroupOptions & { readonly log?: Array<string>; readonly env?: Scripted.GroupOptions["env"] } = {}
) => {
  const { env = (member: number) => Scripted.env(done(member)), log = [], ...groupOptions } = options
  return Rollout.group(
    Scripted.group({
      size: 3,
      log,
      env: (member, attempt) => {
        const made = env(member, attempt)
        const acquired = Effect.isEffect(made) ? made : Effect.succeed(made)
        return stuck(member)
          ? Effect.andThen(Effect.addFinalizer(() => Effect.never), acquired)
          : acquired
      }
    }),
    Scripted.policy,
    groupOptions
  )
}

const tolerant = FailurePolicy.minViableGroup({ minSuccessful: 1, maxRetries: 0 })

/** Runs with what is logged. */
const logged = Effect.fnUntraced(function*<A, E>(effect: Effect.Effect<A, E>) {
  const lines: Array<string> = []
  const logger = Logger.make(({ cause, logLevel, message }) => {
    lines.push(`${logLevel}: ${message} ${Cause.pretty(cause)}`.split("\n", 1).join(""))
  })
  const exit = yield* Effect.exit(Effect.provide(effect, Logger.layer([logger])))
  return { exit, lines }
})

const says = (member: number, limit: string) =>
  `group "group", member ${member}: still busy ${limit} after it was over, and abandoned: ` +
  "bound the time of its acquisitions and releases, or raise releaseTimeout"

describe("a hanging release", () => {
  it.effect("times out, after 30 seconds by default, and does not delay other members", () =>
    Effect.gen(function*() {
      for (const [options, seconds] of [[{}, 30], [{ releaseTimeout: "5 seconds" }, 5]] as const) {
        const log: Array<string> = []
        const fiber = yield* Effect.forkChild(
          logged(roll((member) => member < 2, { ...options, onFailure: tolerant, log }))
        )
        yield* TestClock.adjust(seconds * 1000 - 1)
        assert.deepStrictEqual(log.slice(4), ["release 2.0"])
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust(1)
        const { exit, lines } = yield* Fiber.join(fiber)
        assert.deepInclude(yield* exit, { _tag: "Completed" })
        assert.strictEqual(log.at(-1), "close", "what the group holds is released all the same")
        const line = "Error: a resource of an environment was not released RolloutError: "
        assert.sameMembers(lines.map((found) => found.replace(line, "")), [
          says(0, `${seconds}s`),
          says(1, `${seconds}s`)
        ])
      }
    }))

  it.effect("aborts everything if the policy aborts on deaths", () =>
    Effect.gen(function*() {
      const { exit } = yield* logged(Scripted.inTime(roll((member) => member === 1)))
      assert.isTrue(Exit.hasDies(exit))
      assert.include(String(exit), says(1, "30s"))
    }))

  it.effect("does not hide an earlier failure, even if the policy aborts on deaths", () =>
    Effect.gen(function*() {
      const env = (member: number) =>
        member === 1 ? Scripted.env(Effect.delay(Scripted.breaks("step"), 10)) : Scripted.hanging()
      const { exit, lines } = yield* logged(Scripted.inTime(Effect.flip(roll((member) => member === 1, { env }))))
      assert.strictEqual((yield* exit).message, "step broke")
      assert.lengthOf(lines, 1)
    }))

  it.effect("of a dropped member does not hide why the member was dropped", () =>
    Effect.gen(function*() {
      const env = (member: number) => member === 1 ? Scripted.failing() : Scripted.env(done(1))
      const { exit, lines } = yield* logged(
        Scripted.inTime(roll((member) => member === 1, { env, onFailure: tolerant }))
      )
      const result: GroupResult.GroupResult = yield* exit
      assert.deepStrictEqual(result._tag === "Partial" ? result.dropped : [], [
        { member: 1, attempt: 0, failure: "StepFailed", message: "step broke" }
      ])
      assert.lengthOf(lines, 1)
    }))

  it.effect("does not block an interruption", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const fiber = yield* Effect.forkChild(
        logged(roll(() => true, { log, env: () => Scripted.hanging(), releaseTimeout: "5 seconds" }))
      )
      yield* TestClock.adjust(0)
      const ending = yield* Effect.forkChild(Fiber.interrupt(fiber), { startImmediately: true })
      yield* TestClock.adjust("4 seconds")
      assert.isUndefined(ending.pollUnsafe())
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(ending)
      assert.strictEqual(log.at(-1), "close")
    }))
})

describe("an acquisition that cannot be interrupted", () => {
  const acquiring = (millis: number | undefined, log: Array<string>) =>
    roll(() => false, {
      log,
      onFailure: tolerant,
      memberTimeout: "1 minute",
      releaseTimeout: "5 seconds",
      env: (member) =>
        member === 1
          ? Effect.acquireRelease(
            Effect.delay(
              Effect.sync(() => (log.push("started"), Scripted.env(done(1)))),
              millis ?? Infinity
            ),
            () => Effect.sync(() => void log.push("stopped"))
          )
          : Scripted.env(done(1))
    })

  it.effect("is awaited no longer than its own timeout plus that of a release", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(logged(acquiring(undefined, [])))
      yield* TestClock.adjust("64 seconds")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 second")
      const { exit, lines } = yield* Fiber.join(fiber)
      const result = yield* exit
      assert.deepStrictEqual(
        result._tag === "Partial" ? result.dropped.map(({ failure, member }) => [member, failure]) : [],
        [[1, "TimedOut"]]
      )
      assert.deepStrictEqual(lines, [
        `Error: an operation that could not be interrupted continues by itself RolloutError: ${says(1, "5s")}`
      ])
    }))

  it.effect("is released if it completes late", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const fiber = yield* Effect.forkChild(logged(acquiring(100_000, log)))
      yield* TestClock.adjust("65 seconds")
      const { exit } = yield* Fiber.join(fiber)
      assert.strictEqual((yield* exit)._tag, "Partial")
      assert.notInclude(log, "started")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(log.slice(-2), ["started", "stopped"])
    }))

  it.effect("is awaited if it completes in time", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const fiber = yield* Effect.forkChild(logged(acquiring(62_000, log)))
      yield* TestClock.adjust("62 seconds")
      const { lines } = yield* Fiber.join(fiber)
      assert.deepStrictEqual(lines, [])
      assert.include(log, "stopped")
      assert.isBelow(log.indexOf("stopped"), log.indexOf("close"))
    }))
})

it.effect("an uninterruptible grader is awaited no longer than its timeout plus that of a release", () =>
  Effect.gen(function*() {
    const builder = Scripted.group({
      size: 2,
      env: (member) => Scripted.env(done(member)),
      groupRewards: () => Effect.uninterruptible(Effect.never)
    })
    const options = { graderTimeout: "1 minute", releaseTimeout: "5 seconds", onFailure: tolerant } as const
    const fiber = yield* Effect.forkChild(logged(Rollout.group(builder, Scripted.policy, options)))
    yield* TestClock.adjust("64 seconds")
    assert.isUndefined(fiber.pollUnsafe())
    yield* TestClock.adjust("1 second")
    const exit = fiber.pollUnsafe() ?? assert.fail("it is still waited for")
    const { exit: ended, lines } = yield* exit
    const result = yield* ended
    assert.strictEqual(result._tag === "Skipped" ? result.reason.failure : result._tag, "Ungraded")
    assert.deepStrictEqual(lines.toSorted(), [
      "Error: an operation that could not be interrupted continues by itself RolloutError: " +
      says(-1, "5s").replace(", member -1", ""),
      `Warn: iteration 1: left out: group "group": not graded within 1m: raise graderTimeout, or bound what the grader waits for `,
      `Warn: waiting 30s for the reward of iteration 1, group "group" `
    ])
  }))
