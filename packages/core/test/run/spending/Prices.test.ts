/** Dollars and the prices from which they are computed. */
import { Credit, InvalidOption, Rl, RunRecord } from "@effect-rl/core"
import { Usage } from "@effect-rl/core/backend"
import { Prices } from "@effect-rl/core/program"
import { Call, Script } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Task from "../../rl/Task.ts"
import { another, answersHalf, lastSpent, priced, reason, run, table, warnings, withAnother } from "../Costs.ts"

describe("dollars", () => {
  it.effect("follow the price table, with a separate price for cached prompt tokens", () =>
    Effect.gen(function*() {
      const { cached = 0, dollars, prefilled, sampled, trained } = lastSpent(yield* Stream.runCollect(priced(run())))
      assert.isAbove(cached, 0)
      const sum = (prefilled - cached) * 1000 + cached * 100 + sampled * 2000 + trained * 4000
      assert.approximately(dollars ?? NaN, sum / 1e6, 1e-12)
    }).pipe(Effect.provide(Task.layer({
      sample: (request, at) => {
        const answer = Task.answersHalf(request, at)
        return Effect.isEffect(answer) ? answer : { ...answer, promptCacheHitTokens: 10 }
      }
    }))))

  it.effect("are unknown without prices", () =>
    Effect.gen(function*() {
      const records = yield* Stream.runCollect(run())
      assert.notProperty(lastSpent(records), "dollars")
      assert.notProperty(records.find(RunRecord.guards.Updated)?.forecast, "dollars")
      assert.deepStrictEqual(warnings(records), [])
    }).pipe(Effect.provide(answersHalf)))

  const distilled = (overrides: Task.Overrides = {}) =>
    Stream.unwrap(Effect.gen(function*() {
      const credit = Credit.distill({ teacher: yield* another })
      const options = yield* Task.options(overrides)
      return Rl.run({ ...options, update: { learningRate: 1e-2, credit } })
    }))

  it.effect("are unknown from the first request to an unpriced model, which the run reports once", () =>
    Effect.gen(function*() {
      const records = yield* Stream.runCollect(priced(distilled()))
      assert.isAbove(records.find(RunRecord.guards.GroupRolledOut)?.spent.dollars ?? NaN, 0)
      assert.notProperty(lastSpent(records), "dollars")
      assert.deepStrictEqual(warnings(records), [
        "\"another\" has no price for some of its tokens: dollars are unknown from here on"
      ])
    }).pipe(Effect.provide(withAnother)))

  it.effect("add up over all models", () =>
    Effect.gen(function*() {
      const prices = Prices.layer({ ...table, another: { prefill: 5000 } })
      const records = yield* Stream.runCollect(Stream.provide(distilled(), prices))
      const calls = yield* Call.CallLog.use(({ calls }) => calls)
      const read = calls.reduce((sum, call) => call._tag === "ComputeLogprobs" ? sum + call.prompt.length : sum, 0)
      const { dollars, prefilled, sampled, trained } = lastSpent(records)
      assert.isAbove(read, 0)
      const sum = (prefilled - read) * 1000 + read * 5000 + sampled * 2000 + trained * 4000
      assert.approximately(dollars ?? NaN, sum / 1e6, 1e-12)
    }).pipe(Effect.provide(withAnother)))

  it.effect("end the run before they exceed their limit, with a checkpoint", () =>
    Effect.gen(function*() {
      const maxDollars = 4
      const records = yield* Stream.runCollect(priced(run({ epochs: 10, run: { maxDollars } })))
      assert.strictEqual(reason(records), "max_dollars")
      assert.isNotNull(records.findLast(RunRecord.guards.Finished)?.checkpoint)
      const { dollars = NaN } = lastSpent(records)
      assert.isAtMost(dollars, maxDollars)
      assert.isAbove(dollars, maxDollars / 2)
    }).pipe(Effect.provide(answersHalf)))

  it.effect("are limited over all segments of a run together", () =>
    Effect.gen(function*() {
      const training = priced(run({ epochs: 10, run: { maxDollars: 4 } }))
      const before = lastSpent(yield* Stream.runCollect(training)).dollars ?? NaN
      const again = yield* Stream.runCollect(training)
      assert.strictEqual(reason(again), "max_dollars")
      assert.isAtMost(lastSpent(yield* Task.records).dollars ?? NaN, 4)
      assert.isAbove(before, 2)
    }).pipe(Effect.provide(answersHalf)))

  const limited = run({ run: { maxDollars: 1000 } })

  it.effect.each([{}, { [Script.defaultModel]: { prefill: 1, sample: 1 } }])(
    "cannot be limited with the prices %j, in which some are missing",
    (prices) =>
      Effect.gen(function*() {
        const { message } = yield* Effect.flip(Stream.runDrain(Stream.provide(limited, Prices.layer(prices))))
        assert.include(message, "run.maxDollars is 1000, expected to be left out, or prices for what")
        assert.deepStrictEqual(yield* Task.records, [])
      }).pipe(Effect.provide(answersHalf))
  )

  it.effect("cannot be limited in a run that has spent without prices", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(run({ run: { iterations: 1 } }))
      const { message } = yield* Effect.flip(Stream.runDrain(priced(limited)))
      assert.include(message, "what this one has spent is unknown")
    }).pipe(Effect.provide(answersHalf)))

  it.effect("cannot be limited if a teacher has no price", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Stream.runDrain(priced(distilled({ run: { maxDollars: 1000 } }))))
      assert.instanceOf(error, InvalidOption.InvalidOption)
      assert.include(error.message, "prices for every model that the run uses")
      assert.strictEqual((yield* Task.records).at(-1)?._tag, "Failed")
    }).pipe(Effect.provide(withAnother)))
})

describe("prices", () => {
  it.effect("in an invalid file are refused with the name of the wrong field", () =>
    Effect.gen(function*() {
      const refused = (given: unknown) =>
        Effect.map(Effect.flip(Prices.decode(given, "--prices p.yaml")), ({ message }) => message)
      assert.include(
        yield* refused({ tiny: { sample: -1 } }),
        "--prices p.yaml.tiny.sample is -1, expected a number of at least 0"
      )
      assert.include(yield* refused({ tiny: { smaple: 1 } }), "did you mean \"sample\"?")
      assert.include(yield* refused([1]), "--prices p.yaml is [1], expected an object of models")
      assert.deepStrictEqual(yield* Prices.decode(table, "prices"), table)
    }))

  it("do not cover an omitted kind of tokens, unless none is used", () => {
    const tokens = { prefilled: 2_000_000, sampled: 1_000_000, trained: 0 }
    assert.strictEqual(Prices.cost({ prefill: 1, sample: 4 }, tokens), 6)
    assert.strictEqual(Prices.cost({ prefill: 1, sample: 4 }, { ...tokens, cached: 2_000_000 }), 6)
    assert.isUndefined(Prices.cost({ prefill: 1 }, tokens))
    assert.isUndefined(Prices.cost(undefined, tokens))
    assert.strictEqual(Prices.cost(undefined, Usage.zero), 0)
  })
})
