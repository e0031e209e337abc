import { Evaluator, Rl, RunRecord } from "@effect-rl/core"
import { Usage } from "@effect-rl/core/backend"
import { Spent } from "@effect-rl/core/records"
import { evaluationsAfter } from "@effect-rl/core/run/spending/Budget"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import * as Task from "../../rl/Task.ts"

describe("a forecast", () => {
  it.effect("is exact from the first iteration if all iterations cost the same", () =>
    Effect.gen(function*() {
      const options = yield* Task.options({ epochs: 3 })
      const groups = yield* options.dataset.batch(0, 0)
      const evaluators = [Evaluator.testSet({ name: "held_out", groups, maxTokens: 8 })]
      const records = yield* Stream.runCollect(Rl.run({ ...options, run: { evalEvery: 2, evaluators } }))
      const end = records.findLast(RunRecord.guards.Evaluated)?.spent ?? Spent.zero
      const forecasts = records.filter(RunRecord.guards.Updated).map(({ forecast }) => forecast ?? Spent.zero)
      assert.lengthOf(forecasts, 6)
      for (const forecast of forecasts) assert.approximately(Usage.total(forecast), Usage.total(end), 1e-6)
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it.effect("includes earlier spending when a run is resumed", () =>
    Effect.gen(function*() {
      const run = (iterations: number) =>
        Stream.unwrap(Effect.map(Task.options({ epochs: 3, run: { iterations } }), (options) => Rl.run(options)))
      yield* Stream.runDrain(run(2))
      const records = yield* Stream.runCollect(run(6))
      const end = records.findLast(RunRecord.guards.Updated)?.spent ?? Spent.zero
      const [first] = records.filter(RunRecord.guards.Updated)
      assert.approximately(Usage.total(first?.forecast ?? Spent.zero), Usage.total(end), 1e-6)
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it.prop("counts every scheduled measurement once", [
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 })),
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 12 }))
  ], ([iterations, evalEvery]) => {
    for (let done = 0; done <= iterations; done++) {
      const due = Array.from({ length: iterations - done }, (_, index) => done + index)
        .filter((iteration) => iteration % evalEvery === 0)
      const left = evaluationsAfter(done, { iterations, evalEvery, evaluators: 2 })
      assert.strictEqual(left, 2 * (due.length + 1))
    }
    assert.strictEqual(evaluationsAfter(0, { iterations, evalEvery: 0, evaluators: 2 }), 0)
  })
})
