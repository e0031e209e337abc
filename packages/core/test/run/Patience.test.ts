/** A run that ends when its evaluations stop improving. */
import { Loss, RunRecord } from "@effect-rl/core"
import { Datum, ModelInput } from "@effect-rl/core/backend"
import { Pass, Program, Run, type RunOptions } from "@effect-rl/core/program"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import * as Task from "../rl/Task.ts"

const length = 20

const datum = Datum.weightedTokens(ModelInput.fromTokens([1, 2]), {
  targetTokens: Int32Array.of(2, 3),
  weights: Float32Array.of(1, 1)
})

const iteration = (index: number): Program.Iteration<{ readonly next: number }> => ({
  _tag: "Iteration",
  updates: [Program.update([Pass.make([datum], Loss.crossEntropy)], { learningRate: 0.1 })],
  report: () => ({ cursor: { next: index + 1 }, metrics: {} })
})

const program = (evaluatesBeside: boolean): Program.Program<{ readonly next: number }> => ({
  name: "imitate",
  identity: {},
  cursor: Schema.Struct({ next: Schema.Int }),
  start: { next: 0 },
  length,
  ahead: evaluatesBeside ? 1 : 0,
  evaluatesBeside,
  iterations: ({ next }) => Stream.map(Stream.range(next, length - 1), iteration)
})

/** An evaluator that returns these values in turn and repeats the last one. */
const measuring = (name: string, metric: string, values: ReadonlyArray<number>) => {
  let at = 0
  return {
    name,
    evaluate: () =>
      Effect.sync(() => ({
        name,
        metrics: { [`${name}/${metric}`]: values[Math.min(at++, values.length - 1)] ?? NaN },
        groups: []
      }))
  }
}

const run = (settings: RunOptions.RunOptions["run"], evaluatesBeside = false) =>
  Stream.runCollect(
    Stream.unwrap(
      Effect.map(Task.model, (model) =>
        Run.stream(program(evaluatesBeside), { model, run: { evalEvery: 2, ...settings } }))
    )
  )

const trained = (records: ReadonlyArray<RunRecord.RunRecord>) => records.filter(RunRecord.guards.Updated).length

const warnings = (records: ReadonlyArray<RunRecord.RunRecord>) =>
  records.filter(RunRecord.guards.Warning).map(({ message }) => message)

const withBackend = Effect.provide(Task.layer())

// Evaluations run after 0, 2, 4, 6, … iterations.
const worse = [3, 2, 2.5, 2, 4]

describe("a run with patience", () => {
  it.effect("ends and is saved after `patience` evaluations without improvement", () =>
    Effect.gen(function*() {
      const records = yield* run({ patience: 2, evaluators: [measuring("held_out", "nll", worse)] })
      assert.strictEqual(trained(records), 6)
      assert.deepStrictEqual(warnings(records), [
        "patience ends the run: 2 evaluations by held_out were no better than that after 2 iterations, whose nll is 2"
      ])
      assert.deepInclude(records.findLast(RunRecord.guards.Saved), { kind: "final", iteration: 6 })
      assert.deepInclude(records.at(-1), { _tag: "Finished", reason: "completed", iteration: 6 })
    }).pipe(withBackend))

  it.effect("treats a higher margin as better", () =>
    Effect.gen(function*() {
      const rising = measuring("held_out", "margin", [1, 2, 3, 3, 2])
      assert.strictEqual(trained(yield* run({ patience: 2, evaluators: [rising] })), 8)
    }).pipe(withBackend))

  it.effect("continues while evaluations improve", () =>
    Effect.gen(function*() {
      const falling = Array.from({ length: 12 }, (_, at) => 12 - at)
      assert.strictEqual(
        trained(yield* run({ patience: 1, evaluators: [measuring("held_out", "nll", falling)] })),
        length
      )
    }).pipe(withBackend))

  it.effect("continues if patience is 0", () =>
    Effect.gen(function*() {
      assert.strictEqual(trained(yield* run({ evaluators: [measuring("held_out", "nll", worse)] })), length)
    }).pipe(withBackend))

  it.effect("continues if no evaluator measures a metric that can be compared", () =>
    Effect.gen(function*() {
      const evaluators = [measuring("held_out", "other", worse)]
      assert.strictEqual(trained(yield* run({ patience: 1, evaluators })), length)
    }).pipe(withBackend))

  it.effect("compares only evaluations that measure the same metric as the best one", () =>
    Effect.gen(function*() {
      const [first, others] = [measuring("held_out", "nll", [3]), measuring("held_out", "margin", [9])]
      let count = 0
      const evaluator = { ...first, evaluate: () => (count++ === 0 ? first : others).evaluate() }
      assert.strictEqual(trained(yield* run({ patience: 2, evaluators: [evaluator] })), length)
    }).pipe(withBackend))

  it.effect("counts only the first evaluator's evaluations", () =>
    Effect.gen(function*() {
      const falling = Array.from({ length: 12 }, (_, at) => 12 - at)
      const evaluators = [measuring("first", "nll", falling), measuring("second", "nll", worse)]
      assert.strictEqual(trained(yield* run({ patience: 1, evaluators })), length)
    }).pipe(withBackend))

  it.effect("does nothing when it is restarted, and continues with more patience", () =>
    Effect.gen(function*() {
      yield* run({ patience: 2, evaluators: [measuring("held_out", "nll", worse)] })
      assert.strictEqual(trained(yield* run({ patience: 2, evaluators: [measuring("held_out", "nll", [9])] })), 0)
      assert.strictEqual(trained(yield* run({ patience: 3, evaluators: [measuring("held_out", "nll", [9])] })), 2)
    }).pipe(withBackend))

  it.effect("also ends if evaluations run concurrently with training", () =>
    Effect.gen(function*() {
      const records = yield* run({ patience: 2, evaluators: [measuring("held_out", "nll", worse)] }, true)
      assert.isBelow(trained(records), length)
      assert.strictEqual(warnings(records).length, 1)
      assert.deepInclude(records.at(-1), { _tag: "Finished", reason: "completed" })
    }).pipe(withBackend))
})
