import { Rollout } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Scripted from "./Scripted.ts"

const { policy } = Scripted

/** Groups with one member each that take the given milliseconds; `running` is the largest number that ran concurrently. */
const slowGroups = (millisG: ReadonlyArray<number>) => {
  const running = { now: 0, most: 0 }
  const builders = millisG.map((millis, index) =>
    Scripted.group({
      key: `group ${index}`,
      size: 1,
      env: () =>
        Effect.gen(function*() {
          running.most = Math.max(running.most, ++running.now)
          yield* Effect.addFinalizer(() => Effect.sync(() => running.now--))
          return Scripted.slow(millis)
        })
    })
  )
  return { builders, running }
}

const equal = (count: number) => Array.from({ length: count }, () => 100)

const keys = Effect.fnUntraced(function*(millisG: ReadonlyArray<number>, options?: Rollout.StreamOptions) {
  const { builders, running } = slowGroups(millisG)
  const results = yield* Scripted.inTime(Stream.runCollect(Rollout.stream(builders, policy, options)))
  return { order: results.map(({ key }) => Number(key.slice("group ".length))), most: running.most }
})

describe("many groups", () => {
  it.effect("are returned in the order of their builders, whatever their durations", () =>
    Effect.gen(function*() {
      const { order } = yield* keys([500, 100, 400, 200, 300])
      assert.deepStrictEqual(order, [0, 1, 2, 3, 4])
    }))

  it.effect("are returned as they finish, on request", () =>
    Effect.gen(function*() {
      const { order } = yield* keys([500, 100, 400, 200, 300], { unordered: true })
      assert.deepStrictEqual(order, [1, 3, 4, 2, 0])
    }))

  it.effect.each([1, 2, 7])("run at most %d at a time on request", (concurrency) =>
    Effect.gen(function*() {
      const { most, order } = yield* keys(equal(20), { concurrency })
      assert.strictEqual(most, concurrency)
      assert.strictEqual(order.length, 20)
    }))

  it.effect.each([NaN, 0, 1.5])(
    "are refused with a concurrency of %s",
    (concurrency) =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(keys(equal(2), { concurrency }))
        assert.include(String(error), `concurrency is ${concurrency}, expected a whole number of at least 1`)
      })
  )

  it.effect("run 64 at a time by default", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* keys(equal(100))).most, 64)
    }))

  it.effect("are interrupted concurrently, whatever their release times", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const builders = ["one", "two", "three"].map((key) =>
        Scripted.group({
          key,
          size: 1,
          env: () =>
            Effect.as(
              Effect.addFinalizer(() => Effect.delay(Effect.sync(() => log.push(key)), "10 seconds")),
              Scripted.slow(1_000_000)
            )
        })
      )
      const fiber = yield* Effect.forkChild(Stream.runDrain(Rollout.stream(builders, policy)))
      yield* TestClock.adjust("1 second")
      const leaving = yield* Effect.forkChild(Fiber.interrupt(fiber))
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(log.toSorted(), ["one", "three", "two"])
      yield* Fiber.join(leaving)
    }))

  it.effect("are interrupted and released when one fails", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const builders = [0, 1, 2, 3].map((index) =>
        Scripted.group({
          key: `group ${index}`,
          size: 1,
          log,
          env: () => index === 2 ? Scripted.env(Effect.delay(Scripted.breaks("group 2"), 1000)) : Scripted.hanging()
        })
      )
      const all = Stream.runCollect(Rollout.stream(builders, policy, { concurrency: 3 }))
      assert.strictEqual((yield* Effect.flip(Scripted.inTime(all))).message, "group 2 broke")
      const count = (line: string) => log.filter((found) => found === line).length
      assert.deepStrictEqual([count("open"), count("release 0.0"), count("close")], [3, 3, 3])
    }))

  it.effect("stop when the consumer takes no more", () =>
    Effect.gen(function*() {
      const { builders, running } = slowGroups(equal(50))
      const some = Rollout.stream(builders, policy, { concurrency: 4 }).pipe(Stream.take(2), Stream.runCollect)
      assert.strictEqual((yield* Scripted.inTime(some)).length, 2)
      assert.strictEqual(running.now, 0)
    }))

  it.effect.each([{ unordered: false }, { unordered: true }])(
    "wait for their consumer, unordered: $unordered",
    ({ unordered }) =>
      Effect.gen(function*() {
        let opened = 0
        const builders = Array.from({ length: 100 }, (_, index) =>
          Scripted.group({
            key: `group ${index}`,
            size: 1,
            opening: Effect.sync(() => void opened++),
            env: () => Scripted.slow(10)
          }))
        const slow = Rollout.stream(builders, policy, { concurrency: 4, unordered }).pipe(
          Stream.tap(() => Effect.sleep("1 hour")),
          Stream.runDrain
        )
        const fiber = yield* Effect.forkChild(slow)
        yield* Effect.repeat(TestClock.adjust("1 minute"), { times: 29 })
        const before = opened
        assert.isAtMost(before, 1 + 3 * 4)
        yield* Effect.repeat(TestClock.adjust("1 minute"), { times: 9 * 60 })
        assert.isAtMost(opened, before + 10)
        yield* Fiber.interrupt(fiber)
      })
  )

  it.effect("use the given sampler step and failure policy", () =>
    Effect.gen(function*() {
      const builder = Scripted.group({ size: 2, env: (member) => member === 1 ? Scripted.failing() : Scripted.env() })
      const results = yield* Stream.runCollect(
        Rollout.stream([builder], policy, { samplerStep: 7, onFailure: Scripted.always("drop") })
      )
      assert.deepStrictEqual(results.map((result) => result._tag === "Partial" ? result.samplerStep : -1), [7])
    }))

  it.effect("are refused before any is opened if two have the same key", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const builder = Scripted.group({ key: "sum/0", size: 1, log, env: () => Scripted.env() })
      const other = Scripted.group({ key: "sum/1", size: 1, log, env: () => Scripted.env() })
      const error = yield* Effect.flip(Stream.runDrain(Rollout.stream([builder, other, builder], policy)))
      assert.strictEqual(
        error.message,
        `key is "sum/0" twice, expected a key of its own for each group of a batch, such as one with the index of its row`
      )
      assert.deepStrictEqual(log, [])
    }))

  it.effect("may be empty", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* keys([])).order, [])
    }))
})
