/** A program without reinforcement learning: `run` does not depend on an algorithm. */
import { Loss, RunRecord, RunStore, TinkerError } from "@effect-rl/core"
import { Datum, ModelInput, type Weights } from "@effect-rl/core/backend"
import { Pass, Program, Run, RunOptions } from "@effect-rl/core/program"
import { Call, Fault } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Logger, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Task from "../rl/Task.ts"

const datum = (index: number) =>
  Datum.weightedTokens(ModelInput.fromTokens([index + 1, index + 2]), {
    targetTokens: Int32Array.of(index + 2, index + 3),
    weights: Float32Array.of(1, 1)
  })

const iteration = (index: number): Program.Iteration<{ readonly next: number }> => ({
  _tag: "Iteration",
  updates: [Program.update([Pass.make([datum(index)], Loss.crossEntropy)], { learningRate: 0.1 })],
  report: (outputs) => ({
    cursor: { next: index + 1 },
    metrics: { loss: outputs[0]?.passes[0]?.metrics["loss:sum"] ?? NaN }
  })
})

const length = 6

/** A program that imitates one datum per iteration. */
const imitate = (ahead: number): Program.Program<{ readonly next: number }> => ({
  name: "imitate",
  identity: { data: "counting" },
  cursor: Schema.Struct({ next: Schema.Int }),
  start: { next: 0 },
  length,
  ahead,
  iterations: ({ next }) => Stream.map(Stream.range(next, length - 1), iteration)
})

const measures = {
  name: "loss",
  evaluate: ({ training }: Weights.Weights) =>
    Effect.gen(function*() {
      const pending = yield* training.forward([datum(0)], Loss.crossEntropy)
      const { metrics } = yield* pending.await
      return { name: "loss", metrics: { "loss/sum": metrics["loss:sum"] ?? NaN }, groups: [] }
    })
}

const run = (ahead = 0, settings: RunOptions.RunSettings = {}) =>
  Stream.unwrap(
    Effect.map(Task.model, (model) => Run.stream(imitate(ahead), { model, run: { evalEvery: 0, ...settings } }))
  )

const losses = (records: ReadonlyArray<RunRecord.RunRecord>) =>
  records.filter(RunRecord.guards.Updated).map(({ iteration, metrics }) => [iteration, metrics["loss"]])

const withBackend = Effect.provide(Task.layer())

describe("Run.stream", () => {
  it.effect("reports that a finished run has nothing left to do", () => {
    const lines: Array<string> = []
    const logger = Logger.make(({ message }) => void lines.push(String(message)))
    return Effect.gen(function*() {
      yield* Stream.runDrain(run())
      assert.deepStrictEqual(lines, [])
      yield* Stream.runDrain(run())
      assert.deepStrictEqual(lines, ["nothing was left to do: the run ended before, after 6 iterations"])
    }).pipe(withBackend, Effect.provide(Logger.layer([logger])))
  })

  it.effect("refuses two evaluators with the same name, since their evaluations would be indistinguishable", () =>
    Effect.gen(function*() {
      const model = yield* Task.model
      const evaluators = [measures, { ...measures, name: "other" }, measures]
      const error = yield* Effect.flip(Stream.runDrain(Run.stream(imitate(0), { model, run: { evaluators } })))
      assert.strictEqual(error._tag, "InvalidOption")
      const { name } = measures
      assert.strictEqual(
        error.message,
        `run.evaluators is ${name},other,${name}, expected evaluators of different names`
      )
    }).pipe(withBackend))

  it.effect("submits, settles, evaluates and saves a program's iterations, and records each event in the store", () =>
    Effect.gen(function*() {
      const records = yield* Stream.runCollect(
        Stream.unwrap(
          Effect.map(
            Task.model,
            (model) => Run.stream(imitate(0), { model, run: { evalEvery: 3, saveEvery: 4, evaluators: [measures] } })
          )
        )
      )
      assert.deepStrictEqual(
        records.map(({ _tag }) => _tag),
        [
          "Opened",
          "Evaluating",
          "Evaluated",
          "Updated",
          "Updated",
          "Updated",
          "Evaluating",
          "Evaluated",
          "Updated",
          "Saved",
          "Updated",
          "Updated",
          "Evaluating",
          "Evaluated",
          "Saved",
          "Finished"
        ]
      )
      const evaluated = records.filter(RunRecord.guards.Evaluated).map(({ iteration, step }) => [iteration, step])
      assert.deepStrictEqual(evaluated, [[0, 0], [3, 3], [6, 6]])
      const saved = records.filter(RunRecord.guards.Saved).map(({ statePath }) => statePath.split("/").at(-1))
      assert.deepStrictEqual(saved, ["000004", "final"])
      assert.deepInclude(records[0], { resumedFrom: null, continuesAfter: -1 })
      assert.deepStrictEqual(yield* Task.records, records)
    }).pipe(withBackend))

  it.effect("reports with each update the completed share of a finite program", () =>
    Effect.gen(function*() {
      const records = yield* Stream.runCollect(run())
      const done = records.filter(RunRecord.guards.Updated).map(({ metrics }) => metrics["progress/done_frac"])
      assert.deepStrictEqual(done, Array.from({ length }, (_, index) => (index + 1) / length))
    }).pipe(withBackend))

  it.effect("reports the duration of each update", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(Stream.runCollect(run(0, { iterations: 2 })))
      yield* Effect.repeat(Effect.andThen(Effect.yieldNow, TestClock.adjust("10 seconds")), { times: 30 })
      const updated = (yield* Fiber.join(fiber)).filter(RunRecord.guards.Updated)
      assert.deepStrictEqual(updated.map(({ updates }) => updates.map(({ seconds }) => seconds)), [[60], [60]])
    }).pipe(Effect.provide(Task.layer({ faults: [Fault.every("OptimStep", Fault.slow("1 minute"))] }))))

  it.effect("records the memory and processors that each iteration used, if a ProcessMeter is provided", () =>
    Effect.gen(function*() {
      const uses = [{ memory: 1000, processors: 1.5 }, { memory: 2000, processors: 0.5 }]
      const left = [...uses]
      const records = yield* Stream.runCollect(run(0, { iterations: 2 })).pipe(
        Effect.provideService(RunOptions.ProcessMeter, Effect.sync(() => left.shift()))
      )
      assert.deepStrictEqual(records.filter(RunRecord.guards.Updated).map(({ process }) => process), uses)
    }).pipe(withBackend))

  it.effect("reports neither a completed share nor a forecast for an endless program", () =>
    Effect.gen(function*() {
      const endless = { ...imitate(0), length: Infinity }
      const opened = Stream.unwrap(
        Effect.map(Task.model, (model) => Run.stream(endless, { model, run: { evalEvery: 0 } }))
      )
      const records = yield* Stream.runCollect(Stream.takeUntil(opened, RunRecord.guards.Updated))
      const updated = records.find(RunRecord.guards.Updated)
      assert.isDefined(updated)
      assert.notProperty(updated.metrics, "progress/done_frac")
      assert.notProperty(updated, "forecast")
      assert.notProperty(updated, "process")
    }).pipe(withBackend))

  it.effect("submits as many iterations ahead as the program allows", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(run(1))
      const trace = yield* Task.trace
      assert.deepStrictEqual(trace.slice(1, 5), [
        "forward_backward(1, cross_entropy)",
        "optim_step(0.1)",
        "forward_backward(1, cross_entropy)",
        "optim_step(0.1)"
      ])
    }).pipe(withBackend))

  it.effect("settles submitted iterations before it saves, and otherwise keeps submitting ahead", () =>
    Effect.gen(function*() {
      const records = yield* Stream.runCollect(run(1, { saveEvery: 3 }))
      const told = records.flatMap((record) =>
        record._tag === "Updated" || record._tag === "Saved" ? [`${record._tag} ${record.iteration}`] : []
      )
      assert.deepStrictEqual(told, [
        "Updated 0",
        "Updated 1",
        "Updated 2",
        "Saved 3",
        "Updated 3",
        "Updated 4",
        "Updated 5",
        "Saved 6"
      ])
    }).pipe(withBackend))

  it.effect("learns the same with and without iterations ahead", () =>
    Effect.gen(function*() {
      const inOrder = losses(yield* Effect.provide(Stream.runCollect(run(0)), Task.layer(), { local: true }))
      const ahead = losses(yield* Effect.provide(Stream.runCollect(run(1)), Task.layer(), { local: true }))
      assert.deepStrictEqual(ahead, inOrder)
      assert.lengthOf(inOrder, length)
    }))

  it.effect.each([0, 1])(
    "settles its %i iterations ahead, saves, and resumes exactly where it was stopped",
    (ahead) =>
      Effect.gen(function*() {
        const whole = losses(yield* Effect.provide(Stream.runCollect(run(ahead)), Task.layer(), { local: true }))
        for (let stop = 0; stop < length - 1; stop++) {
          yield* Effect.gen(function*() {
            yield* run(ahead).pipe(
              Stream.takeUntil((record) => record._tag === "Updated" && record.iteration === stop),
              Stream.runDrain
            )
            yield* Stream.runDrain(run(ahead))
            assert.deepStrictEqual(losses(RunRecord.current(yield* Task.records)), whole, `stopped after ${stop}`)
          }).pipe(Effect.provide(Task.layer(), { local: true }))
        }
      })
  )

  it.effect("keeps rolling checkpoints for a limited time, with only the resumable state", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(run(0, { saveEvery: 4, rollingSaveEvery: 1, rollingSaveTtl: "1 hour" }))
      const saves = yield* Task.current(RunRecord.guards.Saved)
      assert.deepStrictEqual(
        saves.map(({ expiresAt, iteration, kind, samplerPath }) => [
          iteration,
          kind,
          samplerPath === null,
          expiresAt
        ]),
        [
          [1, "rolling", true, 3_600_000],
          [2, "rolling", true, 3_600_000],
          [3, "rolling", true, 3_600_000],
          [4, "periodic", false, null],
          [5, "rolling", true, 3_600_000],
          [6, "final", false, null]
        ]
      )
    }).pipe(withBackend))

  it.effect("reports that all checkpoints are gone, and does not start again", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(run())
      const error = yield* Effect.flip(Stream.runDrain(run()))
      assert.strictEqual(error._tag === "ResumeError" ? error.reason._tag : error._tag, "CheckpointsLost")
    }).pipe(Effect.provide(Task.layer({
      faults: [Fault.every(
        "CreateTrainingClientFromState",
        Fault.fail(new TinkerError.NotFound({ kind: "checkpoint", name: "final", available: [] }))
      )]
    }))))

  it.effect("refuses a checkpoint of another program version before it records anything", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(run().pipe(Stream.takeUntil(RunRecord.guards.Updated)))
      const before = yield* Task.records
      const renamed = {
        ...imitate(0),
        cursor: Schema.Struct({ position: Schema.Int }),
        start: { position: 0 },
        iterations: () => Stream.empty
      }
      const error = yield* Effect.flip(
        Effect.flatMap(Task.model, (model) => Stream.runDrain(Run.stream(renamed, { model, run: { evalEvery: 0 } })))
      )
      assert.strictEqual(error._tag === "ResumeError" ? error.reason._tag : error._tag, "CheckpointUnreadable")
      assert.include(error.message, "position")
      assert.deepStrictEqual(yield* Task.records, before)
    }).pipe(withBackend))

  it.effect.each(
    [
      ["name", { name: "000003" }, "its name is 000003, expected 000001"],
      ["iteration", { iteration: 2, name: "000002" }, "its iteration is 2, expected 1"],
      ["optimizerSteps", { optimizerSteps: 3 }, "its optimizerSteps is 3, expected 1"]
    ] as const
  )(
    "refuses a checkpoint whose %s contradicts earlier records",
    ([, change, expected]) =>
      Effect.gen(function*() {
        yield* Stream.runDrain(run().pipe(Stream.takeUntil(RunRecord.guards.Updated)))
        const store = yield* RunStore.RunStore
        const before = yield* Task.records
        const changed = RunStore.RunStore.of({
          ...store,
          read: Stream.map(store.read, (record) => record._tag === "Saved" ? { ...record, ...change } : record)
        })
        const error = yield* Effect.flip(Effect.provideService(Stream.runDrain(run()), RunStore.RunStore, changed))
        assert.strictEqual(error._tag === "ResumeError" ? error.reason._tag : error._tag, "CheckpointContradicted")
        assert.include(error.message, expected)
        assert.deepStrictEqual(yield* Task.records, before)
      }).pipe(withBackend)
  )

  it.effect("records nothing if it cannot start", () =>
    Effect.gen(function*() {
      const from = (loadCheckpointPath?: string) =>
        Stream.unwrap(Effect.map(Task.model, (model) =>
          Run.stream(imitate(0), { model, ...(loadCheckpointPath === undefined ? {} : { loadCheckpointPath }) })))
      yield* Effect.flip(Stream.runDrain(from("scripted://no/such")))
      assert.deepStrictEqual(yield* Task.records, [])
      yield* Stream.runDrain(from())
    }).pipe(withBackend))

  it.effect("refuses to resume as another program", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(run(0, { iterations: 1 }))
      const other = Stream.unwrap(
        Effect.map(Task.model, (model) => Run.stream({ ...imitate(0), identity: { data: "letters" } }, { model }))
      )
      const error = yield* Effect.flip(Stream.runDrain(other))
      assert.include(error.message, `started with data "counting", now it is "letters"`)
    }).pipe(withBackend))

  it.effect("ends with a failed record if the program fails", () =>
    Effect.gen(function*() {
      const failing = { ...imitate(0), iterations: () => Stream.fail(new RunStore.RunError({ run: "x", detail: "y" })) }
      yield* Effect.flip(
        Stream.runDrain(Stream.unwrap(Effect.map(Task.model, (model) => Run.stream(failing, { model }))))
      )
      assert.deepInclude((yield* Task.records).at(-1), { _tag: "Failed", error: "RunError", message: "x: y" })
    }).pipe(withBackend))

  it.effect("opens the training client before it records anything", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(Stream.take(run(), 1))
      const calls = yield* Call.CallLog.use(({ calls }) => calls)
      assert.strictEqual(calls[0]?._tag, "CreateTrainingClient")
    }).pipe(withBackend))
})
