import * as FairShare from "@effect-rl/tinker/server/FairShare"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Schema } from "effect"

/** Starts work that ends on command, and reports what is running. */
const workshop = (capacity: number) => {
  const fair = FairShare.make(capacity)
  const running: Array<string> = []
  const begin = Effect.fnUntraced(function*(caller: string, weight: number, name = caller) {
    const end = yield* Deferred.make<void>()
    const work = Effect.acquireUseRelease(
      Effect.sync(() => running.push(name)),
      () => Deferred.await(end),
      () => Effect.sync(() => running.splice(running.indexOf(name), 1))
    )
    const fiber = yield* Effect.forkChild(fair.use(caller, weight)(work), { startImmediately: true })
    return { fiber, end: Effect.andThen(Deferred.succeed(end, undefined), Fiber.join(fiber)) }
  })
  return { running, begin }
}

describe("FairShare", () => {
  it.effect("leaves half of the capacity to others, however much one caller requests", () =>
    Effect.gen(function*() {
      const { begin, running } = workshop(8)
      for (let index = 0; index < 6; index++) yield* begin("alice", 2, `alice ${index}`)
      assert.deepStrictEqual(running, ["alice 0", "alice 1"])
      yield* begin("bob", 4)
      assert.deepStrictEqual(running, ["alice 0", "alice 1", "bob"])
    }))

  it.effect("lets waiting callers take turns, instead of favouring the one with most requests", () =>
    Effect.gen(function*() {
      const { begin, running } = workshop(2)
      const first = yield* begin("alice", 1, "alice 0")
      const second = yield* begin("bob", 1, "bob 0")
      for (const name of ["alice 1", "alice 2", "alice 3"]) yield* begin("alice", 1, name)
      yield* begin("carol", 1)
      yield* second.end
      yield* first.end
      assert.deepStrictEqual([...running].sort(), ["alice 1", "carol"])
    }))

  it.effect("reduces a weight above a caller's share to that share", () =>
    Effect.gen(function*() {
      const { begin, running } = workshop(4)
      const large = yield* begin("alice", 1000)
      assert.deepStrictEqual(running, ["alice"])
      yield* begin("alice", 1, "next")
      yield* large.end
      assert.deepStrictEqual(running, ["next"])
    }))

  it.effect("releases the capacity of a caller that stops waiting", () =>
    Effect.gen(function*() {
      const { begin, running } = workshop(2)
      const first = yield* begin("alice", 1, "first")
      const waiting = yield* begin("alice", 1, "waiting")
      yield* begin("alice", 1, "last")
      yield* Fiber.interrupt(waiting.fiber)
      yield* first.end
      assert.deepStrictEqual(running, ["last"])
    }))

  it.effect("handles ten thousand consecutive requests that each end immediately", () =>
    Effect.gen(function*() {
      const fair = FairShare.make(2)
      const gate = yield* Deferred.make<void>()
      let ran = 0
      const work = Effect.andThen(Deferred.await(gate), Effect.sync(() => ran++))
      const all = yield* Effect.forkChild(
        Effect.forEach(Array.from({ length: 10_000 }), () => fair.use("alice", 1)(work), {
          concurrency: "unbounded",
          discard: true
        }),
        { startImmediately: true }
      )
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(all)
      assert.strictEqual(ran, 10_000)
    }))

  const Asked = Schema.Struct({
    caller: Schema.Literals(["a", "b", "c"]),
    weight: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 }))
  })

  it.effect.prop(
    "eventually runs every request, and never exceeds the capacity",
    [Schema.Array(Asked)],
    ([asked]) =>
      Effect.gen(function*() {
        const fair = FairShare.make(6)
        let used = 0
        let ran = 0
        const work = (weight: number) =>
          Effect.acquireUseRelease(
            Effect.sync(() => {
              used += Math.min(weight, 3)
              assert.isAtMost(used, 6)
            }),
            () => Effect.andThen(Effect.yieldNow, Effect.sync(() => ran++)),
            () => Effect.sync(() => used -= Math.min(weight, 3))
          )
        yield* Effect.forEach(asked, ({ caller, weight }) => fair.use(caller, weight)(work(weight)), {
          concurrency: "unbounded",
          discard: true
        })
        assert.strictEqual(ran, asked.length)
      })
  )
})
