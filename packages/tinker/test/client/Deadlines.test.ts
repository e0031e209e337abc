import * as Deadlines from "@effect-rl/tinker/client/Deadlines"
import * as WireError from "@effect-rl/tinker/client/WireError"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"

const late = () => WireError.make(new WireError.NoAnswer({ detail: "late" }))

describe("a deadline", () => {
  it.effect("ends effects that exceed it, each after its own time, and no others", () =>
    Effect.gen(function*() {
      const { within } = yield* Deadlines.make
      const ended: Array<string> = []
      const work = (name: string, seconds: number, limit: number) =>
        Effect.sleep(Duration.seconds(seconds)).pipe(
          within(Duration.seconds(limit), late),
          Effect.exit,
          Effect.map((exit) => ended.push(`${name} ${Exit.isSuccess(exit) ? "done" : "late"}`)),
          Effect.forkChild({ startImmediately: true })
        )
      yield* work("a", 4, 5)
      yield* work("b", 9, 5)
      yield* work("c", 9, 3)
      yield* TestClock.adjust("2 seconds")
      yield* work("d", 9, 5)
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(ended, ["c late", "a done"])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(ended, ["c late", "a done", "b late"])
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(ended, ["c late", "a done", "b late", "d late"])
      yield* work("e", 9, 5)
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(ended.at(-1), "e late")
    }))

  it.effect("fails with an error created at that moment, after interrupting the work", () =>
    Effect.gen(function*() {
      const { within } = yield* Deadlines.make
      let isInterrupted = false
      const work = Effect.onInterrupt(Effect.never, () => Effect.sync(() => void (isInterrupted = true)))
      const fiber = yield* Effect.forkChild(within(Duration.seconds(1), late)(work))
      yield* TestClock.adjust("1 second")
      assert.include((yield* Effect.flip(Fiber.join(fiber))).message, "late")
      assert.isTrue(isInterrupted)
    }))

  it.effect("passes on failures and external interruption", () =>
    Effect.gen(function*() {
      const { within } = yield* Deadlines.make
      const limited = within(Duration.seconds(1), late)
      assert.strictEqual(yield* Effect.flip(limited(Effect.fail("no"))), "no")
      let isInterrupted = false
      const work = Effect.onInterrupt(Effect.never, () => Effect.sync(() => void (isInterrupted = true)))
      const fiber = yield* Effect.forkChild(limited(work), { startImmediately: true })
      yield* Fiber.interrupt(fiber)
      assert.isTrue(isInterrupted)
    }))
})
