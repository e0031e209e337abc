import { Dpo, LearningRate, Message, Preferences, RunRecord, RunStore } from "@effect-rl/core"
import { PreferenceEvaluator } from "@effect-rl/core/evaluation"
import { PairLoss } from "@effect-rl/core/program"
import { Call } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Task from "../rl/Task.ts"

const rows = Array.from({ length: 5 }, (_, a) => ({
  chosen: [Message.user(`${a} + 1`), Message.assistant(String(a + 1))],
  rejected: [Message.user(`${a} + 1`), Message.assistant("0")]
}))

type Overrides = Partial<
  Pick<Dpo.Options, "run" | "update" | "loss" | "beta" | "gamma" | "loadCheckpointPath" | "referenceEvery">
>

/** Options for six iterations: two shuffled epochs of five preferences in batches of two. */
const options = (overrides: Overrides = {}) =>
  Effect.map(Task.model, (model) => ({
    model,
    dataset: Preferences.pairs(rows, { model, batchSize: 2, epochs: 2, shuffle: true }),
    update: { learningRate: 0.1 },
    ...overrides,
    run: { evalEvery: 0, ...overrides.run }
  }))

const run = (overrides: Overrides = {}) => Stream.unwrap(Effect.map(options(overrides), (options) => Dpo.run(options)))

const updates = Effect.map(
  Task.current(RunRecord.guards.Updated),
  (updates) =>
    updates.map(({ metrics }) =>
      Object.fromEntries(Object.entries(metrics).filter(([name]) => name.startsWith("dpo/") || name === "loss:sum"))
    )
)

const fresh = Task.layer()

/** The weights from which log-probabilities were requested. */
const references = Effect.map(
  Call.CallLog.use(({ calls }) => calls),
  (calls) => [...new Set(calls.flatMap((call) => call._tag === "ComputeLogprobs" ? [call.modelPath] : []))]
)

describe("Dpo.run", () => {
  it.effect("starts with a margin of 0 and widens it", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(run({ beta: 0.5 }))
      const [first, ...others] = yield* updates
      assert.closeTo(first?.["dpo/margin"] ?? NaN, 0, 1e-5)
      assert.closeTo(first?.["dpo/loss"] ?? NaN, Math.LN2, 1e-5)
      assert.strictEqual(first?.["dpo/pairs"], 2)
      assert.isAbove(others.at(-1)?.["dpo/margin"] ?? NaN, 0.1)
      assert.strictEqual(others.at(-1)?.["dpo/accuracy"], 1)
    }).pipe(Effect.provide(fresh)))

  it.effect("uses the base model as the reference, and trains both responses in one pass", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(run({ run: { iterations: 1 } }))
      const trace = yield* Task.trace
      assert.include(trace, "forward_backward_custom(4)")
      assert.lengthOf(trace.filter((call) => call.startsWith("compute_logprobs")), 4)
      assert.deepStrictEqual(yield* references, ["effect-rl/scripted"])
    }).pipe(Effect.provide(fresh)))

  it.effect("keeps its reference, and resumes exactly after any interruption", () =>
    Effect.gen(function*() {
      const expected = yield* Effect.provide(Effect.andThen(Stream.runDrain(run()), updates), fresh, { local: true })
      for (let stop = 1; stop < 6; stop++) {
        const [resumed, asked] = yield* Effect.gen(function*() {
          yield* run().pipe(
            Stream.takeUntil((record) => record._tag === "Updated" && record.iteration === stop - 1),
            Stream.runDrain
          )
          yield* Stream.runDrain(run())
          return yield* Effect.all([updates, references])
        }).pipe(Effect.provide(fresh, { local: true }))
        assert.deepStrictEqual(resumed, expected, `stopped after ${stop}`)
        assert.deepStrictEqual(asked, ["effect-rl/scripted"])
      }
    }))

  it.effect("replaces its reference by the policy after every two iterations, also in a resumed run", () =>
    Effect.gen(function*() {
      const moving = run({ referenceEvery: 2, run: { saveEvery: 1 } })
      const expected = yield* Effect.provide(Effect.andThen(Stream.runDrain(moving), updates), fresh, { local: true })
      const margins = expected.map((metrics) => metrics["dpo/margin"] ?? NaN)
      margins.forEach((margin, index) =>
        index % 2 === 0 ? assert.closeTo(margin, 0, 1e-5) : assert.isAbove(margin, 1e-3)
      )
      for (let stop = 1; stop < 6; stop++) {
        const resumed = yield* Effect.gen(function*() {
          yield* Stream.runDrain(Stream.take(Stream.filter(moving, RunRecord.guards.Updated), stop))
          yield* Stream.runDrain(moving)
          return yield* updates
        }).pipe(Effect.provide(fresh, { local: true }))
        assert.deepStrictEqual(resumed, expected, `stopped after ${stop}`)
      }
    }))

  it.effect("refuses to move a reference every 0 iterations, or one that the loss does not have", () =>
    Effect.gen(function*() {
      const never = yield* Effect.flip(Stream.runDrain(run({ referenceEvery: 0 })))
      assert.strictEqual(never.message, "referenceEvery is 0, expected a whole number of at least 1")
      const absent = yield* Effect.flip(Stream.runDrain(run({ loss: "orpo", referenceEvery: 2 })))
      const expected = `left out for the loss "orpo", which has no reference`
      assert.strictEqual(absent.message, `referenceEvery is 2, expected ${expected}`)
      assert.deepStrictEqual(yield* Task.trace, [])
    }).pipe(Effect.provide(fresh)))

  it.effect("uses the checkpoint that it starts from as its reference", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(run({ update: { learningRate: 1 } }))
      const saved = (yield* Task.current(RunRecord.guards.Saved)).at(-1)
      assert.isDefined(saved)
      const options_ = yield* options({ loadCheckpointPath: saved.statePath, run: { iterations: 1, seed: 1 } })
      const first = yield* Dpo.run(options_).pipe(
        Stream.filter(RunRecord.guards.Updated),
        Stream.runHead,
        Effect.provide(RunStore.RunStore.layerMemory, { local: true })
      )
      assert(first._tag === "Some")
      assert.closeTo(first.value.metrics["dpo/margin"] ?? NaN, 0, 1e-5)
    }).pipe(Effect.provide(fresh)))

  it.effect("refuses to resume with another reference or beta", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(run({ run: { iterations: 1 } }))
      const beta = yield* Effect.flip(Stream.runDrain(run({ beta: 0.2 })))
      assert.include(beta.message, "beta")
      const reference = yield* Effect.flip(Stream.runDrain(run({ loadCheckpointPath: "elsewhere" })))
      assert.include(reference.message, "elsewhere")
    }).pipe(Effect.provide(fresh)))

  it.effect("refuses a beta of 0 before its first request", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Stream.runDrain(run({ beta: 0 })))
      assert.strictEqual(error.message, "beta is 0, expected a number above 0")
      assert.deepStrictEqual(yield* Task.trace, [])
    }).pipe(Effect.provide(fresh)))

  it.effect.each(PairLoss.names)("widens the margin with the loss %s", (loss) =>
    Effect.gen(function*() {
      yield* Stream.runDrain(run({ loss }))
      const margins = (yield* updates).map((metrics) => metrics["dpo/margin"] ?? NaN)
      assert.isAbove((margins.at(-1) ?? NaN) - (margins[0] ?? NaN), 0.01)
      const asked = PairLoss.byName(loss).reference ? ["effect-rl/scripted"] : []
      assert.deepStrictEqual(yield* references, asked)
    }).pipe(Effect.provide(fresh)))

  it.effect("refuses a gamma for a loss that has none, and another loss on resume", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Stream.runDrain(run({ gamma: 1 })))
      assert.strictEqual(error.message, `gamma is 1, expected left out for the loss "sigmoid"`)
      yield* Stream.runDrain(run({ run: { iterations: 1 } }))
      const other = yield* Effect.flip(Stream.runDrain(run({ loss: "ipo" })))
      assert.include(other.message, "loss")
    }).pipe(Effect.provide(fresh)))

  it.effect("decreases its learning rate over the iterations", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(
        run({ update: { learningRate: LearningRate.cosine({ peak: 1 }) }, run: { iterations: 2 } })
      )
      const calls = yield* Call.CallLog.use(({ calls }) => calls)
      const rates = calls.flatMap((call) => call._tag === "OptimStep" ? [call.adam.learningRate] : [])
      assert.deepStrictEqual(rates.map((rate) => rate.toFixed(6)), ["1.000000", "0.500000"])
    }).pipe(Effect.provide(fresh)))
})

describe("PreferenceEvaluator", () => {
  it.effect("reports a larger held-out margin after training", () =>
    Effect.gen(function*() {
      const given = yield* options()
      const heldOut = Preferences.pairs(rows, { model: given.model, batchSize: 3 })
      const evaluators = [PreferenceEvaluator.make({ name: "held_out", dataset: heldOut })]
      yield* Stream.runDrain(Dpo.run({ ...given, update: { learningRate: 1 }, run: { evaluators, evalEvery: 10 } }))
      const [before, after] = yield* Task.current(RunRecord.guards.Evaluated)
      assert.isAbove((after?.metrics["held_out/margin"] ?? NaN) - (before?.metrics["held_out/margin"] ?? NaN), 1)
      assert.strictEqual(after?.metrics["held_out/pairs"], 5)
      assert.strictEqual(after?.score?.value, 1)
    }).pipe(Effect.provide(fresh)))
})
