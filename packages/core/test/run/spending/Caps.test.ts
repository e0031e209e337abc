/** Limits on a run's spending besides tokens and dollars. */
import { RunRecord } from "@effect-rl/core"
import { Usage } from "@effect-rl/core/backend"
import * as Spent from "@effect-rl/core/records/Spent"
import * as Caps from "@effect-rl/core/run/spending/Caps"
import { Call, Fault } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Task from "../../rl/Task.ts"
import { answersHalf, judged, lastSpent, priced, reason, run, warnings, withAnother } from "../Costs.ts"

describe("a time limit", () => {
  const slow = Task.layer({ sample: Task.answersHalf, faults: [Fault.every("Sample", Fault.slow("1 minute"))] })

  const timed = Effect.fnUntraced(function*(overrides: Task.Overrides) {
    const fiber = yield* Effect.forkChild(Stream.runCollect(run(overrides)))
    yield* Effect.repeat(Effect.andThen(Effect.yieldNow, TestClock.adjust("10 seconds")), { times: 100 })
    return yield* Fiber.join(fiber)
  })

  it.effect("ends the run when the time is over, with a checkpoint", () =>
    Effect.gen(function*() {
      const records = yield* timed({ epochs: 10, run: { maxMinutes: 2.5 } })
      assert.deepInclude(records.at(-1), { _tag: "Finished", iteration: 2, reason: "max_minutes" })
      assert.strictEqual(lastSpent(records).seconds, 150)
      assert.lengthOf(records.filter(RunRecord.guards.Saved), 1)
    }).pipe(Effect.provide(slow)))

  it.effect("covers all segments of the run, without the time between them", () =>
    Effect.gen(function*() {
      const run = { maxMinutes: 2.5 }
      yield* timed({ epochs: 10, run: { ...run, iterations: 1 } })
      yield* TestClock.adjust("1 day")
      const records = yield* timed({ epochs: 10, run: { ...run, iterations: 8 } })
      assert.deepInclude(records.at(-1), { _tag: "Finished", iteration: 2, reason: "max_minutes" })
      const again = yield* timed({ epochs: 10, run: { ...run, iterations: 8 } })
      assert.deepInclude(again.at(-1), { _tag: "Finished", iteration: 2, reason: "max_minutes" })
      assert.notInclude(again.map(({ _tag }) => _tag), "GroupRolledOut")
    }).pipe(Effect.provide(slow)))
})

describe("requests that might exceed a limit together", () => {
  /** The number of concurrent requests in the first ten seconds. Two requests each read 24 tokens, sample up to 8 and take a minute. */
  const together = Effect.fnUntraced(function*(limits: NonNullable<Task.Overrides["run"]>) {
    const fiber = yield* Effect.forkChild(Stream.runCollect(priced(run({ groupSize: 1, run: limits }))))
    yield* Effect.repeat(Effect.andThen(Effect.yieldNow, TestClock.adjust("1 second")), { times: 10 })
    const calls = yield* Call.CallLog.use(({ calls }) => calls)
    yield* Fiber.interrupt(fiber)
    return calls.filter(({ _tag }) => _tag === "Sample").length
  })

  const slow = Task.layer({ sample: Task.answersHalf, faults: [Fault.every("Sample", Fault.slow("1 minute"))] })

  it.effect.each(
    [
      [{ maxTokensTotal: 64 }, 2],
      [{ maxTokensTotal: 63 }, 1],
      [{ maxTokensTotal: 31 }, 0],
      [{ maxDollars: 0.0801 }, 2],
      [{ maxDollars: 0.0799 }, 1],
      [{ maxDollars: 0.0399 }, 0]
    ] as const
  )("wait for each other: %o lets %i of two start", ([limits, count]) =>
    Effect.gen(function*() {
      assert.strictEqual(yield* together(limits), count)
    }).pipe(Effect.provide(slow)))

  /** The first of four requests takes one minute, and the others take three. */
  const uneven = Task.layer({
    sample: Task.answersHalf,
    faults: [
      Fault.call("Sample", 0, Fault.slow("1 minute")),
      Fault.call("Sample", 1, Fault.slow("3 minutes")),
      Fault.call("Sample", 2, Fault.slow("3 minutes")),
      Fault.call("Sample", 3, Fault.slow("3 minutes"))
    ]
  })

  // The first request has read and sampled 26 tokens; the second and the third may still take 32 each.
  it.effect.each([[{ maxTokensTotal: 90 }, 3], [{ maxTokensTotal: 89 }, 2]] as const)(
    "wait only for running requests: %o lets %i of four start in two minutes",
    ([limits, count]) =>
      Effect.gen(function*() {
        const options = { groupSize: 1, groupsPerBatch: 4, run: limits }
        const fiber = yield* Effect.forkChild(Stream.runCollect(run(options)))
        yield* Effect.repeat(Effect.andThen(Effect.yieldNow, TestClock.adjust("1 second")), { times: 120 })
        const calls = yield* Call.CallLog.use(({ calls }) => calls)
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(calls.filter(({ _tag }) => _tag === "Sample").length, count)
      }).pipe(Effect.provide(uneven))
  )

  it.effect("end the run at the first limit that they exceed", () =>
    Effect.gen(function*() {
      const records = yield* Stream.runCollect(priced(run({ run: { maxTokensTotal: 10, maxDollars: 0.001 } })))
      assert.strictEqual(reason(records), "max_tokens_total")
    }).pipe(Effect.provide(answersHalf)))
})

describe("a judge call limit", () => {
  it.effect("ends the run before it is exceeded", () =>
    Effect.gen(function*() {
      const records = yield* Stream.runCollect(judged({ maxJudgeCalls: 10 }))
      assert.deepInclude(records.at(-1), { _tag: "Finished", iteration: 1, reason: "max_judge_calls" })
      assert.isAtMost(lastSpent(records).judgeCalls ?? NaN, 10)
    }).pipe(Effect.provide(withAnother)))

  it.effect("covers all segments of the run", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(judged({ maxJudgeCalls: 10 }))
      const records = yield* Stream.runCollect(judged({ maxJudgeCalls: 10 }))
      assert.deepInclude(records.at(-1), { _tag: "Finished", iteration: 1, reason: "max_judge_calls" })
      const calls = yield* Call.CallLog.use(({ calls }) => calls)
      assert.isAtMost(calls.filter((call) => call._tag === "Sample" && call.modelPath === "another").length, 10)
    }).pipe(Effect.provide(withAnother)))
})

describe("a soft limit", () => {
  const share = { epochs: 10, run: { maxTokensTotal: 1500, softShare: 0.5, saveEvery: 1 } }

  it.effect("warns once across all segments when its share is spent, and the run continues", () =>
    Effect.gen(function*() {
      const first = yield* Stream.runCollect(Stream.takeUntil(run(share), RunRecord.guards.Warning))
      const [warning] = warnings(first)
      assert.strictEqual(
        warning,
        "50 % of max_tokens_total 1500 are spent: the run ends before it might exceed that limit"
      )
      const spent = lastSpent(first)
      assert.isAtLeast(Usage.total(spent), 750)
      assert.deepInclude(first.at(-2), { spent })
      const second = yield* Stream.runCollect(run(share))
      assert.strictEqual(reason(second), "max_tokens_total")
      assert.deepStrictEqual(warnings(second), [])
      assert.isAbove(Usage.total(lastSpent(second)), Usage.total(spent))
    }).pipe(Effect.provide(answersHalf)))

  it.effect("warns separately for each limit", () =>
    Effect.gen(function*() {
      const run_ = { maxTokensTotal: 100_000, maxDollars: 4, softShare: 0.25 }
      const records = yield* Stream.runCollect(priced(run({ epochs: 10, run: run_ })))
      assert.deepStrictEqual(warnings(records), [
        "25 % of max_dollars 4 are spent: the run ends before it might exceed that limit"
      ])
    }).pipe(Effect.provide(answersHalf)))
})

describe("amounts of Caps", () => {
  const spent = { prefilled: 1, sampled: 2, trained: 4, cached: 8, judgeCalls: 16, seconds: 90, dollars: 0.5 }
  const amounts = { max_tokens_total: 7, max_dollars: 0.5, max_minutes: 1.5, max_judge_calls: 16 }

  it("contain the spent tokens, dollars, minutes and judge calls", () => {
    assert.deepStrictEqual(Caps.amounts(spent), amounts)
    assert.deepStrictEqual(Caps.amounts(Spent.zero), Caps.none)
    assert.deepStrictEqual(Caps.amounts(Usage.zero), Caps.none)
  })

  it("are added and subtracted per field", () => {
    const twice = { max_tokens_total: 14, max_dollars: 1, max_minutes: 3, max_judge_calls: 32 }
    assert.deepStrictEqual(Caps.add(amounts, amounts), twice)
    assert.deepStrictEqual(Caps.add(twice, amounts, -1), amounts)
    assert.deepStrictEqual(Caps.add(amounts, amounts, -1), Caps.none)
  })

  it("exceed a limit only if they are above it", () => {
    const limits = Caps.limits({ maxTokensTotal: 7, maxDollars: 0.5, maxMinutes: 1.5, maxJudgeCalls: 16 })
    assert.deepStrictEqual(limits, amounts)
    assert.isUndefined(Caps.exceeded(amounts, limits))
    for (const name of Caps.names) {
      assert.strictEqual(Caps.exceeded({ ...amounts, [name]: amounts[name] + 0.1 }, limits), name)
    }
    assert.isUndefined(Caps.exceeded({ ...amounts, max_tokens_total: 1e12 }, Caps.limits({})))
  })
})
