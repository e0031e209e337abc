import * as Budget from "@effect-rl/tinker/client/Budget"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"

/** A budget, with the maximum amount in use so far and the current amount. */
const observed = (size: number) => {
  let most = 0
  let last = 0
  const budget = Budget.make("samples", size, (event) => {
    if (event._tag !== "Permits") return
    last = event.inUse
    most = Math.max(most, event.inUse)
  })
  return { budget, most: () => most, last: () => last }
}

const Small = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 }))
const Uses = Schema.Array(Schema.Struct({
  amount: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5 })),
  seconds: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 })),
  interruptedAt: Schema.NullOr(Small)
}))

describe("a budget", () => {
  it.effect("is granted in the order of arrival", () =>
    Effect.gen(function*() {
      const { budget } = observed(2)
      const order: Array<number> = []
      const fibers = yield* Effect.forEach([2, 1, 2, 1, 1], (amount, index) =>
        Effect.forkChild(
          budget.use(amount)(Effect.andThen(Effect.sync(() => order.push(index)), Effect.sleep("1 second"))),
          { startImmediately: true }
        ))
      yield* TestClock.adjust("10 seconds")
      yield* Effect.forEach(fibers, Fiber.join)
      assert.deepStrictEqual(order, [0, 1, 2, 3, 4])
    }))

  it.effect("lets a request larger than the whole budget run alone", () =>
    Effect.gen(function*() {
      const { budget, most } = observed(10)
      yield* Effect.all(
        Array.from({ length: 3 }, () => budget.use(25)(Effect.yieldNow)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(most(), 25)
    }))

  it.effect("is released by requests that fail or are interrupted, whether waiting or running", () =>
    Effect.gen(function*() {
      const { budget, last } = observed(1)
      yield* Effect.exit(budget.use(1)(Effect.fail("no")))
      const held = Deferred.makeUnsafe<void>()
      const working = yield* Effect.forkChild(budget.use(1)(Deferred.await(held)), { startImmediately: true })
      const waiting = yield* Effect.forkChild(budget.use(1)(Effect.void), { startImmediately: true })
      const next = yield* Effect.forkChild(budget.use(1)(Effect.succeed("done")), { startImmediately: true })
      yield* Fiber.interrupt(waiting)
      yield* Fiber.interrupt(working)
      assert.strictEqual(yield* Fiber.join(next), "done")
      assert.strictEqual(last(), 0)
    }))

  it.effect.prop(
    "is never exceeded and always fully released",
    [Uses],
    ([uses]) =>
      Effect.gen(function*() {
        const { budget, last, most } = observed(5)
        const fibers = yield* Effect.forEach(uses, ({ amount, interruptedAt, seconds }) =>
          Effect.gen(function*() {
            const fiber = yield* Effect.forkChild(budget.use(amount)(Effect.sleep(`${seconds} seconds`)))
            if (interruptedAt !== null) {
              yield* Effect.sleep(`${interruptedAt} seconds`)
              yield* Fiber.interrupt(fiber)
            }
            return yield* Fiber.await(fiber)
          }).pipe(Effect.forkChild))
        yield* TestClock.adjust("1000 seconds")
        const exits = yield* Effect.forEach(fibers, Fiber.join)
        assert.isTrue(exits.every((exit) => Exit.isSuccess(exit) || Exit.hasInterrupts(exit)))
        assert.isAtMost(most(), 5)
        assert.strictEqual(last(), 0)
      })
  )
})
