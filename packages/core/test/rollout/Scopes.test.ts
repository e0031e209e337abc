import { Rollout } from "@effect-rl/core"
import { Seed } from "@effect-rl/core/environments"
import { LeakAudit } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Logger, type Scope } from "effect"
import { TestClock } from "effect/testing"
import * as Scripted from "./Scripted.ts"

const { always, done, next } = Scripted
const { policy } = Scripted

const noRewards: Scripted.GroupOptions["groupRewards"] = (trajectories) =>
  Effect.succeed(trajectories.map(() => ({ reward: 0 })))

describe("every acquired resource is released", () => {
  it.effect("after the group rewards, in reverse order of acquisition", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      yield* Rollout.group(
        Scripted.group({ size: 3, log, env: () => Scripted.env(), groupRewards: noRewards }),
        policy
      )
      assert.deepStrictEqual(
        log,
        [
          ["open", "acquire 0.0", "acquire 1.0", "acquire 2.0"],
          "grade",
          ["release 2.0", "release 1.0", "release 0.0", "close"]
        ].flat()
      )
    }))

  it.effect("from a failed attempt before its retry", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      yield* Rollout.group(
        Scripted.group({
          size: 1,
          log,
          env: (_, attempt) => attempt < 2 ? Scripted.failing() : Scripted.env(),
          groupRewards: noRewards
        }),
        policy,
        { onFailure: always("abort", { times: 2 }) }
      )
      assert.deepStrictEqual(
        log,
        [
          "open",
          ["acquire 0.0", "release 0.0"],
          ["acquire 0.1", "release 0.1"],
          ["acquire 0.2", "grade", "release 0.2"],
          "close"
        ].flat()
      )
    }))

  it.effect("from a dropped member immediately, from the others after the rewards", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const builder = Scripted.group({
        size: 2,
        log,
        env: (member) => member === 1 ? Scripted.failing() : Scripted.slow(1000),
        groupRewards: noRewards
      })
      const fiber = yield* Effect.forkChild(Rollout.group(builder, policy, { onFailure: always("drop") }))
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual(log, ["open", "acquire 0.0", "acquire 1.0", "release 1.0"])
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(log.slice(4), ["grade", "release 0.0", "close"])
    }))

  it.effect("from an incomplete acquisition", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const builder = Scripted.group({ size: 1, log, env: () => Scripted.breaks("second half") })
      yield* Rollout.group(builder, policy, { onFailure: always("drop") })
      assert.deepStrictEqual(log, ["open", "acquire 0.0", "release 0.0", "close"])
    }))

  it.effect("from a partly opened group before it is opened again", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      let openings = 0
      const builder = Scripted.group({
        size: 1,
        log,
        env: () => Scripted.env(),
        opening: Effect.suspend(() => openings++ === 0 ? Scripted.breaks("coordinator") : Effect.void)
      })
      const result = yield* Rollout.group(builder, policy, { onFailure: always("abort", { times: 1 }) })
      assert.deepStrictEqual(log, ["open", "close", "open", "acquire 0.0", "release 0.0", "close"])
      assert.deepStrictEqual(result._tag === "Completed" ? result.retried.map(({ failure }) => failure) : [], [
        "AcquireFailed"
      ])
    }))

  it.effect("from a timed-out member before its retry", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const builder = Scripted.group({
        size: 1,
        log,
        env: (_, attempt) => attempt === 0 ? Scripted.hanging() : Scripted.env()
      })
      const rolling = Rollout.group(builder, policy, {
        memberTimeout: "1 minute",
        onFailure: always("abort", { times: 1 })
      })
      const fiber = yield* Effect.forkChild(rolling)
      yield* TestClock.adjust("1 minute")
      const result = yield* Fiber.join(fiber)
      assert.deepStrictEqual(log, ["open", "acquire 0.0", "release 0.0", "acquire 0.1", "release 0.1", "close"])
      assert.strictEqual(result._tag, "Completed")
    }))
})

describe("a member that dies and is released", () => {
  it.effect.each([true, false])(
    "does not fail a group that is skipped, coupled: %s",
    (coupled) =>
      Effect.gen(function*() {
        const sticky = Effect.addFinalizer(() => Effect.sleep("10 seconds"))
        const builder = Scripted.group({
          size: 2,
          coupled,
          env: (member) =>
            member === 0
              ? Effect.as(sticky, Scripted.throwing)
              : Scripted.env(Effect.delay(Scripted.breaks("step"), 1000))
        })
        const onFailure = always("skip", { but: { Died: "drop" } })
        const result = yield* Scripted.inTime(Rollout.group(builder, policy, { onFailure }))
        assert.strictEqual(result._tag, "Skipped")
        const expected = coupled ? "Died" : "StepFailed"
        assert.strictEqual(result._tag === "Skipped" ? result.reason.failure : "", expected)
      })
  )
})

describe("a failure that aborts", () => {
  it.effect("interrupts the other members and waits for them before closing anything", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const leaving = Effect.onInterrupt(
        Effect.never,
        () => Effect.andThen(Effect.sleep("10 seconds"), Effect.sync(() => log.push("left")))
      )
      const builder = Scripted.group({
        size: 3,
        log,
        env: (member) =>
          member === 1 ? Scripted.env(Effect.delay(Scripted.breaks("step"), 1000)) : Scripted.env(leaving)
      })
      const fiber = yield* Effect.forkChild(Effect.exit(Rollout.group(builder, policy)))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(log.slice(4), ["release 1.0"])
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("10 seconds")
      const exit = yield* Fiber.join(fiber)
      assert.include(String(exit), "step broke")
      assert.deepStrictEqual(log.slice(5).toSorted(), ["close", "left", "left", "release 0.0", "release 2.0"])
      assert.strictEqual(log.at(-1), "close")
      assert.isBelow(log.indexOf("left"), log.indexOf("release 0.0"))
    }))

  it.effect("lets no member continue", () =>
    Effect.gen(function*() {
      let steps = 0
      const counted = Effect.as(Effect.delay(Effect.sync(() => steps++), 400), next(0))
      const builder = Scripted.group({
        size: 4,
        env: (member) =>
          member === 3
            ? Scripted.env(Effect.delay(Scripted.breaks("step"), 1000))
            : Scripted.env(...Array.from({ length: 100 }, () => counted))
      })
      const fiber = yield* Effect.forkChild(Effect.exit(Rollout.group(builder, policy)))
      yield* TestClock.adjust("1 hour")
      yield* Fiber.join(fiber)
      assert.strictEqual(steps, 3 * 2)
    }))

  it.effect("is not retried if it is an interruption", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const builder = Scripted.group({ size: 2, log, env: () => Scripted.env(Effect.interrupt) })
      const exit = yield* Effect.exit(Rollout.group(builder, policy, { onFailure: always("drop", { times: 3 }) }))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
      assert.notInclude(log, "acquire 0.1")
      assert.strictEqual(log.at(-1), "close")
    }))
})

describe("a release that dies", () => {
  const bad = Effect.addFinalizer(() => Effect.die(new Error("sandbox stuck")))
  const stuck = (env: Effect.Effect<ReturnType<typeof Scripted.env>>) => Effect.andThen(bad, env)
  const roll = (log: Array<string>, policyOfFailures: ReturnType<typeof always>) =>
    Rollout.group(
      Scripted.group({
        size: 3,
        log,
        env: (member) => member === 1 ? stuck(Effect.succeed(Scripted.env(done(1)))) : Scripted.env(done(member))
      }),
      policy,
      { onFailure: policyOfFailures }
    )

  it.effect("does not prevent other releases, and aborts everything if the policy aborts on deaths", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const exit = yield* Effect.exit(roll(log, always("abort")))
      assert.include(String(exit), "sandbox stuck")
      assert.deepStrictEqual(log.slice(4), ["release 2.0", "release 1.0", "release 0.0", "close"])
    }))

  it.effect("is logged if deaths do not abort, and the group keeps its result", () => {
    const lines: Array<string> = []
    const logger = Logger.make(({ cause, logLevel }) => void lines.push(`${logLevel}: ${Cause.pretty(cause)}`))
    return Effect.gen(function*() {
      const result = yield* roll([], always("drop"))
      assert.strictEqual(result._tag, "Completed")
      assert.strictEqual(lines.length, 1)
      assert.match(lines.join(), /^Error: .*sandbox stuck/)
    }).pipe(Effect.provide(Logger.layer([logger])))
  })

  it.effect("does not hide the attempt's failure", () =>
    Effect.gen(function*() {
      const builder = Scripted.group({ size: 1, env: () => stuck(Effect.succeed(Scripted.failing())) })
      const result = yield* Rollout.group(builder, policy, { onFailure: always("drop") })
      assert.deepStrictEqual(result._tag === "Skipped" ? result.reason : undefined, {
        member: 0,
        attempt: 0,
        failure: "StepFailed",
        message: "step broke"
      })
    }).pipe(Effect.provide(Logger.layer([]))))
})

it.effect("a release that dies on an interruption does not start a retry", () =>
  Effect.gen(function*() {
    const log: Array<string> = []
    const stuck = Effect.addFinalizer(() => Effect.die(new Error("sandbox stuck")))
    const builder = Scripted.group({ size: 2, log, env: () => Effect.as(stuck, Scripted.hanging()) })
    const fiber = yield* Effect.forkChild(
      Rollout.group(builder, policy, { onFailure: always("abort", { times: 3 }) }),
      { startImmediately: true }
    )
    yield* Effect.yieldNow
    yield* Fiber.interrupt(fiber)
    assert.deepStrictEqual(log.filter((line) => line.startsWith("acquire")), ["acquire 0.0", "acquire 1.0"])
    assert.strictEqual(log.at(-1), "close")
  }))

describe("interruption at any moment", () => {
  /** Groups that slowly open, acquire, play, fail, retry, grade and release, with all resources tracked. */
  const groups = (coupled: boolean) =>
    Effect.gen(function*() {
      const { track } = yield* LeakAudit.LeakAudit
      const held = (kind: string): Effect.Effect<void, never, Scope.Scope> =>
        track(kind, Effect.addFinalizer(() => Effect.sleep(3)))
      return [0, 1, 2].map((index) => {
        const builder = Scripted.group({
          size: 4,
          key: `group ${index}`,
          coupled,
          env: (member, attempt) =>
            held("env").pipe(
              Effect.andThen(Effect.sleep(member)),
              Effect.as(Scripted.env(
                Effect.as(Effect.sleep(member + 2), next(0)),
                attempt === 0 && member > 1 ? Effect.delay(Scripted.breaks("step"), member) : done(1)
              ))
            ),
          groupRewards: (trajectories, attempt) =>
            Effect.scoped(Effect.andThen(held("grader"), Effect.delay(noRewards(trajectories, attempt), 4)))
        })
        return { ...builder, open: Effect.andThen(held("group"), Effect.andThen(Effect.sleep(1), builder.open)) }
      })
    })

  const points = Array.from({ length: 100 }, (_, index) => ({
    coupled: index % 2 === 0,
    millis: Seed.derive(3, "interrupt", index) % 50
  }))

  const audited = (run: (coupled: boolean) => Effect.Effect<unknown, unknown, LeakAudit.LeakAudit>, coupled: boolean) =>
    Effect.gen(function*() {
      yield* run(coupled)
      const counts = yield* Effect.flatMap(LeakAudit.LeakAudit, (audit) => audit.counts)
      assert.deepStrictEqual(LeakAudit.live(counts), {})
      return counts
    }).pipe(Effect.provide(LeakAudit.LeakAudit.layer, { local: true }))

  const rolling = (coupled: boolean) =>
    Effect.flatMap(
      groups(coupled),
      (builders) =>
        Effect.forEach(
          builders,
          (builder) =>
            Rollout.group(builder, Scripted.slowPolicy(1), {
              memberTimeout: "30 millis",
              onFailure: always("drop", { times: 2 })
            }),
          { concurrency: 2 }
        )
    )

  it.effect.each([true, false])(
    "leaks nothing without an interruption, coupled: %s",
    (coupled) =>
      Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(audited(rolling, coupled))
        yield* TestClock.adjust("1 hour")
        const counts = yield* Fiber.join(fiber)
        assert.deepStrictEqual(counts, {
          env: coupled ? { acquired: 24, released: 24 } : { acquired: 18, released: 18 },
          grader: { acquired: 3, released: 3 },
          group: coupled ? { acquired: 6, released: 6 } : { acquired: 3, released: 3 }
        })
      })
  )

  it.effect("leaks nothing at any millisecond", () =>
    Effect.forEach(points, ({ coupled, millis }) =>
      Effect.gen(function*() {
        const interrupted = (coupled: boolean) =>
          Effect.gen(function*() {
            const fiber = yield* Effect.forkChild(rolling(coupled))
            yield* Effect.sleep(millis)
            yield* Fiber.interrupt(fiber)
          })
        const fiber = yield* Effect.forkChild(audited(interrupted, coupled))
        yield* TestClock.adjust("1 hour")
        yield* Fiber.join(fiber)
      })))

  it.effect("leaks nothing at any turn of the scheduler", () =>
    Effect.forEach(points, ({ coupled, millis }) =>
      Effect.gen(function*() {
        const interrupted = (coupled: boolean) =>
          Effect.gen(function*() {
            const fiber = yield* Effect.forkChild(rolling(coupled))
            for (let turn = 0; turn < millis; turn++) {
              yield* Effect.yieldNow
              if (turn % 3 === 2) yield* TestClock.adjust(1)
            }
            const ending = yield* Effect.forkChild(Fiber.interrupt(fiber))
            yield* TestClock.adjust("1 hour")
            yield* Fiber.join(ending)
          })
        yield* audited(interrupted, coupled)
      })))
})
