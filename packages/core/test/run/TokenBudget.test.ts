/** The budget of a run, seen through runs: what was asked of the backend can never have cost more. */
import { Rl, RunRecord } from "@effect-rl/core"
import { Fault } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schedule, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Task from "../rl/Task.ts"

const run = (overrides: Task.Overrides) =>
  Stream.unwrap(Effect.map(Task.options(overrides), (options) => Rl.run(options)))

const lastUsage = Effect.map(Task.current(RunRecord.guards.Saved), (saves) => saves.at(-1)?.usage)

const drop = {
  AcquireFailed: "drop",
  StepFailed: "drop",
  GraderFailed: "drop",
  PolicyFailed: "drop",
  HookFailed: "drop",
  TimedOut: "drop",
  Died: "drop"
} as const

describe("A token budget", () => {
  it.effect.each([1, 64])(
    "that is enough one by one is enough for %i groups at a time",
    (concurrency) =>
      Effect.gen(function*() {
        const events = yield* Stream.runCollect(run({ rollout: { concurrency }, run: { maxTokensTotal: 900 } }))
        assert.deepInclude(events.at(-1), { _tag: "Finished", reason: "completed" })
        assert.deepStrictEqual(yield* lastUsage, { prefilled: 384, sampled: 32, trained: 400 })
      }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf })))
  )

  it.effect("counts a request that was given up as its worst case, and no more", () =>
    Effect.gen(function*() {
      const options = yield* Task.options({ groupSize: 1, run: { iterations: 1 } })
      const onFailure = { retry: Schedule.recurs(0), otherwise: drop }
      const training = Rl.run({ ...options, rollout: { memberTimeout: "1 second", maxDroppedShare: 1, onFailure } })
      const fiber = yield* Effect.forkChild(Stream.runDrain(training))
      yield* Effect.repeat(Effect.andThen(Effect.yieldNow, TestClock.adjust("1 second")), { times: 50 })
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(yield* lastUsage, { prefilled: 48, sampled: 16, trained: 0 })
    }).pipe(Effect.provide(Task.layer({ faults: [Fault.every("Sample", Fault.slow("1 hour"))] }))))

  it.effect("once used up ends the run without saving it twice", () =>
    Effect.gen(function*() {
      const limited = run({ epochs: 10, run: { maxTokensTotal: 1500, saveEvery: 1 } })
      const first = yield* Stream.runCollect(limited)
      const second = yield* Stream.runCollect(limited)
      const end = first.at(-1)
      assert.isDefined(end)
      assert.deepInclude(second.at(-1), { _tag: "Finished", reason: "max_tokens_total" })
      assert.lengthOf((yield* Task.records).filter(RunRecord.guards.Saved), first.filter(RunRecord.guards.Saved).length)
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))
})
