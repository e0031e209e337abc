import { TinkerError } from "@effect-rl/core"
import * as RequestOrder from "@effect-rl/tinker/server/RequestOrder"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"

/** Submits `sequences` in this order, and returns the order in which they ran. */
const order = Effect.fnUntraced(function*(sequences: ReadonlyArray<number | undefined>) {
  const turns = yield* RequestOrder.make
  const ran: Array<number | undefined> = []
  const fibers = yield* Effect.forEach(
    sequences,
    (sequence) =>
      turns.take("step", sequence, Effect.sync(() => ran.push(sequence))).pipe(
        Effect.exit,
        Effect.forkChild({ startImmediately: true })
      )
  )
  return { ran, fibers }
})

describe("RequestOrder", () => {
  it.effect.each([
    [[1, 2, 3], [1, 2, 3]],
    [[3, 2, 1], [1, 2, 3]],
    [[2, 3, 1, 5, 4], [1, 2, 3, 4, 5]]
  ])("%s run as %s", ([submitted, expected]) =>
    Effect.gen(function*() {
      const { fibers, ran } = yield* order(submitted ?? [])
      yield* Fiber.awaitAll(fibers)
      assert.deepStrictEqual(ran, expected)
    }))

  it.effect("thousands of requests that wait for the first and then end immediately all get their turn", () =>
    Effect.gen(function*() {
      const ascending = Array.from({ length: 5000 }, (_, index) => index + 1)
      const { fibers, ran } = yield* order(ascending.toReversed())
      yield* Fiber.awaitAll(fibers)
      assert.deepStrictEqual(ran, ascending)
    }))

  it.effect("a request without a number does not wait for others", () =>
    Effect.gen(function*() {
      const { ran } = yield* order([4, undefined])
      assert.deepStrictEqual(ran, [undefined])
    }))

  it.effect("later requests wait for a missing number as long as clients would retry, and no longer", () =>
    Effect.gen(function*() {
      const { fibers, ran } = yield* order([3, 2, 5])
      yield* TestClock.adjust("4 minutes")
      assert.deepStrictEqual(ran, [])
      yield* TestClock.adjust("6 minutes")
      yield* Fiber.awaitAll(fibers)
      assert.deepStrictEqual(ran, [2, 3, 5])
    }))

  it.effect("a number whose turn is over fails and does not run", () =>
    Effect.gen(function*() {
      const { fibers, ran } = yield* order([1, 1])
      const [, second] = yield* Fiber.awaitAll(fibers)
      assert.deepStrictEqual(ran, [1])
      assert.isTrue(second !== undefined && Exit.isSuccess(second) && Exit.isFailure(second.value))
    }))

  it.effect("of two requests with one number, the first runs, the second fails, and later numbers get their turn", () =>
    Effect.gen(function*() {
      const { fibers, ran } = yield* order([2, 2, 3, 1])
      const exits = yield* Fiber.awaitAll(fibers)
      assert.deepStrictEqual(ran, [1, 2, 3])
      assert.deepStrictEqual(
        exits.map((exit) => Exit.isSuccess(exit) && Exit.isSuccess(exit.value)),
        [true, false, true, true]
      )
    }))

  it.effect("two requests with one number that wait for a missing one do not make the model fail", () =>
    Effect.gen(function*() {
      const turns = yield* RequestOrder.make
      const take = (sequence: number) => turns.take("step", sequence, Effect.succeed(sequence))
      const fibers = yield* Effect.forEach(
        [3, 3],
        (sequence) => Effect.forkChild(Effect.exit(take(sequence)), { startImmediately: true })
      )
      yield* TestClock.adjust("6 minutes")
      yield* Fiber.awaitAll(fibers)
      assert.strictEqual(yield* take(4), 4)
    }))

  it.effect("a request that is abandoned while it waits leaves its number to others", () =>
    Effect.gen(function*() {
      const turns = yield* RequestOrder.make
      const waiting = yield* Effect.forkChild(turns.take("step", 2, Effect.void), { startImmediately: true })
      yield* Fiber.interrupt(waiting)
      assert.strictEqual(yield* turns.take("step", 1, Effect.succeed("first")), "first")
      assert.strictEqual(yield* turns.take("step", 2, Effect.succeed("second")), "second")
    }))

  it.effect("a request that fails has used its turn", () =>
    Effect.gen(function*() {
      const turns = yield* RequestOrder.make
      const wrong = new TinkerError.TinkerError({
        operation: "step",
        reason: new TinkerError.Rejected({ detail: "wrong" })
      })
      yield* Effect.exit(turns.take("step", 1, Effect.fail(wrong)))
      assert.strictEqual(yield* turns.take("step", 2, Effect.succeed("next")), "next")
    }))
})
