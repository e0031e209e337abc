/** An interrupted run waits for the current update, but not for a backend that never answers. */
import { Rl, RunRecord, TinkerError } from "@effect-rl/core"
import { Call, Fault } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Task from "../rl/Task.ts"

const run = Stream.unwrap(
  Effect.map(Task.options({ run: { saveEvery: 1, interruptTimeout: "1 minute" } }), (options) => Rl.run(options))
)

/** Interrupts a run when the backend receives a request of this kind, which it answers as specified. */
const interruptedAt = Effect.fnUntraced(function*<A, E, R>(
  operation: Call.Operation,
  answer: Effect.Effect<void>,
  then: (ending: Fiber.Fiber<void>) => Effect.Effect<A, E, R>
) {
  const reached = yield* Deferred.make<void>()
  const fault = Fault.every(
    operation,
    (call) => Effect.andThen(Deferred.succeed(reached, undefined), Effect.andThen(answer, call))
  )
  return yield* Effect.gen(function*() {
    const running = yield* Effect.forkChild(Stream.runDrain(run))
    yield* Deferred.await(reached)
    return yield* then(yield* Effect.forkChild(Fiber.interrupt(running), { startImmediately: true }))
  }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf, faults: [fault] })))
})

describe("an interruption", () => {
  it.effect("lets an update finish and saves it", () =>
    interruptedAt("ForwardBackward", Effect.sleep("30 seconds"), (ending) =>
      Effect.gen(function*() {
        yield* TestClock.adjust("29 seconds")
        assert.isUndefined(ending.pollUnsafe())
        yield* TestClock.adjust("1 seconds")
        yield* Fiber.join(ending)
        assert.deepInclude((yield* Task.current(RunRecord.guards.Saved)).at(-1), { iteration: 1 })
        assert.lengthOf(yield* Task.current(RunRecord.guards.Updated), 1)
      })))

  it.effect.each(["ForwardBackward", "OptimStep", "SaveState"] as const)(
    "gives up on a backend that never answers %s, and saves nothing incomplete",
    (operation) =>
      interruptedAt(operation, Effect.never, (ending) =>
        Effect.gen(function*() {
          yield* TestClock.adjust("59 seconds")
          assert.isUndefined(ending.pollUnsafe())
          yield* TestClock.adjust("2 minutes")
          yield* Fiber.join(ending)
          assert.deepStrictEqual(yield* Task.current(RunRecord.guards.Saved), [])
          assert.deepStrictEqual(yield* Task.live, {})
        }))
  )

  it.effect.each(["ForwardBackward", "OptimStep", "SaveState"] as const)(
    "writes nothing if a backend answers %s after the run gave up",
    (operation) =>
      interruptedAt(operation, Effect.sleep("1 hour"), (ending) =>
        Effect.gen(function*() {
          yield* TestClock.adjust("3 minutes")
          yield* Fiber.join(ending)
          const before = yield* Task.records
          yield* TestClock.adjust("2 hours")
          assert.deepStrictEqual(yield* Task.records, before)
          assert.deepStrictEqual(before.filter(RunRecord.guards.Saved), [])
        }))
  )
})

/** Two saves fail: that of the first iteration, and the final attempt of the failed run. */
describe("a run that cannot save", () => {
  const full = Fault.fail(new TinkerError.Unavailable({ detail: "no space left on device" }))

  it.effect("fails, and after a restart does not sample recorded groups again", () =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(Stream.runDrain(run))
      assert.isTrue(Exit.isFailure(exit))
      assert.isDefined((yield* Task.records).find(RunRecord.guards.Failed))
      assert.deepStrictEqual(yield* Task.current(RunRecord.guards.Saved), [])
      assert.deepStrictEqual(yield* Task.live, {})

      const recorded = (yield* Task.current(RunRecord.guards.GroupRolledOut)).length
      assert.isAbove(recorded, 0)
      yield* Stream.runDrain(run)
      const calls = yield* Call.CallLog.use(({ calls }) => calls)
      assert.lengthOf(calls.filter(({ _tag }) => _tag === "Sample"), 4 * Task.sums.length)
      assert.deepInclude((yield* Task.current(RunRecord.guards.Saved)).at(-1), { iteration: 2 })
    }).pipe(
      Effect.provide(
        Task.layer({ sample: Task.answersHalf, faults: [0, 1].map((call) => Fault.call("SaveState", call, full)) })
      )
    ))
})
