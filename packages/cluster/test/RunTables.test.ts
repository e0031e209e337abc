/** Statements are repeated while the database restarts, and fail at once if the database refuses them. */
import * as RunTables from "@effect-rl/cluster/RunTables"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber } from "effect"
import { SqlError, UnknownError } from "effect/sql/SqlError"
import { TestClock } from "effect/testing"

const failing = (code: string) =>
  Effect.fail(new SqlError({ reason: new UnknownError({ cause: Object.assign(new Error("no"), { code }) }) }))

describe("a statement", () => {
  it.effect.each(["22021", "25006", "53100", "54000"])(
    "that the database refuses with %s fails at once",
    (code) =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(RunTables.of("sums")(failing(code)))
        assert.include(error.message, "sums: the database refuses it")
      })
  )

  it.effect("is repeated while the database restarts", () =>
    Effect.gen(function*() {
      let attempts = 0
      const statement = Effect.suspend(() => ++attempts < 4 ? failing("57P03") : Effect.succeed("there"))
      const fiber = yield* Effect.forkChild(RunTables.of("sums")(statement))
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(yield* Fiber.join(fiber), "there")
      assert.strictEqual(attempts, 4)
    }))

  it.effect("can be interrupted while it waits, even inside an uninterruptible append", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(Effect.uninterruptible(RunTables.of("sums")(failing("57P01"))))
      yield* TestClock.adjust("2 seconds")
      assert.isUndefined(fiber.pollUnsafe())
      yield* Fiber.interrupt(fiber)
      const exit = yield* Fiber.await(fiber)
      assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
    }))
})
