import { LearningRate, RunRecord, Supervised, SupervisedDataset } from "@effect-rl/core"
import { NllEvaluator } from "@effect-rl/core/evaluation"
import { ResumeError } from "@effect-rl/core/program"
import { Call, Fault } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Stream } from "effect"
import * as Task from "../rl/Task.ts"
import * as Imitation from "./Imitation.ts"

const fresh = Task.layer()

describe("a supervised run", () => {
  it.effect("submits the next iteration before the previous one is settled", () =>
    Effect.gen(function*() {
      const first = yield* Deferred.make<void>()
      const slow = Fault.call("OptimStep", 0, (call) => Effect.andThen(Deferred.await(first), call))
      yield* Effect.gen(function*() {
        const running = yield* Effect.forkChild(Stream.runDrain(Imitation.run({ run: { iterations: 4 } })))
        yield* Effect.repeat(Effect.yieldNow, { times: 200 })
        assert.deepStrictEqual(yield* Task.trace, [
          "create_training_client(effect-rl/scripted, 32)",
          "forward_backward(2, cross_entropy)",
          "optim_step(0.1)",
          "forward_backward(2, cross_entropy)",
          "optim_step(0.1)"
        ])
        assert.deepStrictEqual(yield* Task.current(RunRecord.guards.Updated), [])
        yield* Deferred.succeed(first, undefined)
        yield* Fiber.join(running)
        assert.deepStrictEqual((yield* Task.trace).slice(-2), ["save_state(final)", "save_weights_for_sampler(final)"])
        assert.lengthOf(yield* Task.current(RunRecord.guards.Updated), 4)
      }).pipe(Effect.provide(Task.layer({ faults: [slow] })))
    }))

  it.effect("lowers the loss of its examples", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(Imitation.run({ update: { learningRate: 1 } }))
      const nll = (yield* Imitation.updates).map(({ nll = NaN }) => nll)
      assert.lengthOf(nll, 8)
      assert.isBelow((nll.at(-1) ?? NaN) * 2, nll[0] ?? NaN)
    }).pipe(Effect.provide(fresh)))

  it.effect("resumes exactly where it was interrupted", () =>
    Effect.gen(function*() {
      const story = Effect.all([Imitation.updates, Effect.map(Imitation.trained, (data) => data.at(-1))])
      const expected = yield* Effect.provide(
        Effect.andThen(Stream.runDrain(Imitation.run()), story),
        fresh,
        { local: true }
      )
      for (let stop = 1; stop < 8; stop++) {
        const resumed = yield* Effect.gen(function*() {
          yield* Imitation.run().pipe(
            Stream.takeUntil((record) => record._tag === "Updated" && record.iteration === stop - 1),
            Stream.runDrain
          )
          yield* Stream.runDrain(Imitation.run())
          return yield* story
        }).pipe(Effect.provide(fresh, { local: true }))
        assert.deepStrictEqual(resumed, expected, `stopped after ${stop}`)
      }
    }))

  it.effect("trains every batch once, wherever a checkpoint was saved", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(Imitation.run({ run: { saveEvery: 3, iterations: 5 } }))
      yield* Stream.runDrain(Imitation.run({ run: { saveEvery: 3 } }))
      assert.lengthOf(yield* Imitation.trained, 8)
      assert.deepStrictEqual(
        (yield* Task.current(RunRecord.guards.Saved)).map(({ cursor, optimizerSteps }) => [cursor, optimizerSteps]),
        [[3, 3], [5, 5], [6, 6], [8, 8]]
      )
    }).pipe(Effect.provide(fresh)))

  it.effect("refuses to resume with other conversations", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(Imitation.run({ run: { iterations: 2 } }))
      const options = yield* Imitation.options()
      const other = SupervisedDataset.conversations(Imitation.rows.slice(1), {
        model: options.model,
        batchSize: 2,
        epochs: 2,
        shuffle: true
      })
      const error = yield* Effect.flip(Stream.runDrain(Supervised.run({ ...options, dataset: other })))
      assert.instanceOf(error, ResumeError.ResumeError)
      assert.include(error.message, "dataset")
    }).pipe(Effect.provide(fresh)))

  it.effect("decreases its learning rate over its iterations", () =>
    Effect.gen(function*() {
      const update = { learningRate: LearningRate.linear({ peak: 1e-4 }) }
      yield* Stream.runDrain(Imitation.run({ update, run: { iterations: 4 } }))
      const calls = yield* Call.CallLog.use(({ calls }) => calls)
      assert.deepStrictEqual(
        calls.flatMap((call) => call._tag === "OptimStep" ? [call.adam.learningRate] : []),
        [1e-4, 7.500000000000001e-5, 0.5e-4, 0.25e-4]
      )
    }).pipe(Effect.provide(fresh)))

  it.effect("refuses invalid options before its first request", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Stream.runDrain(Imitation.run({ update: { learningRate: -1 } })))
      assert.strictEqual(error.message, "update.learningRate is -1, expected a number of at least 0")
      assert.deepStrictEqual(yield* Task.trace, [])
    }).pipe(Effect.provide(fresh)))
})

describe("the evaluator of held-out conversations", () => {
  it.effect("measures the weights before, during and after training without changing them", () =>
    Effect.gen(function*() {
      const options = yield* Imitation.options()
      const heldOut = SupervisedDataset.conversations(Imitation.rows, { model: options.model, batchSize: 4 })
      const evaluators = [NllEvaluator.make({ name: "held_out", dataset: heldOut, tokenizer: options.model.tokenizer })]
      yield* Stream.runDrain(Supervised.run({ ...options, run: { evaluators, evalEvery: 4 } }))
      const evaluated = yield* Task.current(RunRecord.guards.Evaluated)
      const nll = evaluated.map(({ metrics }) => metrics["held_out/nll"] ?? NaN)
      assert.deepStrictEqual(evaluated.map(({ iteration }) => iteration), [0, 4, 8])
      assert.isTrue(nll.every((value, index) => index === 0 || value < (nll[index - 1] ?? NaN)), nll.join(" "))
      assert.strictEqual(evaluated[0]?.metrics["held_out/datums"], 7)
      const bits = evaluated.map(({ metrics }) => metrics["held_out/bits_per_byte"] ?? NaN)
      assert.isTrue(bits.every((value, index) => value > 0 && (index === 0 || value < (bits[index - 1] ?? NaN))))
      const alone = yield* Effect.provide(
        Effect.andThen(Stream.runDrain(Imitation.run()), Imitation.updates),
        fresh,
        { local: true }
      )
      assert.deepStrictEqual(yield* Imitation.updates, alone)
    }).pipe(Effect.provide(fresh)))
})
