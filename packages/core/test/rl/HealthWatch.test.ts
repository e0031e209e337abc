import { Loss, Rl, RunRecord, RunStore } from "@effect-rl/core"
import { HealthWatch } from "@effect-rl/core/program"
import { type Call, Script } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Task from "./Task.ts"

const run = (health: HealthWatch.HealthSettings) =>
  Stream.unwrap(Effect.map(
    Task.options({ epochs: 2 }),
    (options) => Rl.run({ ...options, health, update: { learningRate: 1e-2, loss: Loss.ppo() } })
  ))

const updated = (records: ReadonlyArray<RunRecord.RunRecord>) => records.filter(RunRecord.guards.Updated)

const warnings = (records: ReadonlyArray<RunRecord.RunRecord>) =>
  records.filter(RunRecord.guards.Warning).map(({ message }) => message)

/** Makes the trainer's log-probabilities fall below the sampler's by `logRatio` per token, except in each pass's first sequence. */
const drifted = (logRatio: number) => ({ data }: Call.Call & { readonly _tag: "ForwardBackward" | "Forward" }) => ({
  logprobs: data.map(({ modelInput }, index) =>
    new Float32Array(modelInput.length).fill(-0.5 - (index === 0 ? 0 : logRatio))
  ),
  metrics: { "loss:sum": 0 }
})

/** A backend on which one of an update's 8 two-token sequences dominates; a larger log-ratio makes it dominate more. */
const layer = (logRatio: number) =>
  Task.layer({ sample: Task.answersHalf, forwardBackward: (pass) => drifted(logRatio)(pass) })

describe("a run that stops on a health concern", () => {
  const stopOn = "optim/entropy, optim/effective_sample_size"

  it.effect("fails with the concern after recording and saving the affected iteration", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Stream.runDrain(run({ stopOn })))
      assert.instanceOf(error, HealthWatch.Unhealthy)
      assert.include(error.message, "iteration 1: optim/effective_sample_size is 0.2")
      assert.strictEqual(error instanceof HealthWatch.Unhealthy ? error.expected : "", "from 0.5")
      const records = yield* Task.records
      assert.lengthOf(updated(records), 1)
      assert.strictEqual(warnings(records)[0], `stopOn ends the run: ${error.message}`)
      assert.deepInclude(records.find(RunRecord.guards.Failed), { error: "Unhealthy", iteration: 1 })
      assert.deepInclude(records.findLast(RunRecord.guards.Saved), { iteration: 1, kind: "interrupted" })
    }).pipe(Effect.provide(layer(3))))

  it.effect("emits every record, including the last checkpoint, in the store's order before it fails", () =>
    Effect.gen(function*() {
      const given: Array<RunRecord.RunRecord> = []
      const training = Stream.runForEach(run({ stopOn }), (record) => Effect.sync(() => given.push(record)))
      assert.instanceOf(yield* Effect.flip(training), HealthWatch.Unhealthy)
      assert.deepStrictEqual(given, yield* Task.records)
      assert.deepStrictEqual(given.slice(-2).map(({ _tag }) => _tag), ["Failed", "Saved"])
    }).pipe(Effect.provide(layer(3))))

  it.effect("can continue from its checkpoint if it is resumed without stopOn", () =>
    Effect.gen(function*() {
      yield* Effect.ignore(Stream.runDrain(run({ stopOn })))
      const records = yield* Stream.runCollect(run({}))
      assert.deepInclude(records[0], { _tag: "Opened", iteration: 1 })
      assert.deepInclude(records.at(-1), { _tag: "Finished", reason: "completed" })
    }).pipe(Effect.provide(layer(3))))

  it.effect("has no effect on a healthy run", () =>
    Effect.gen(function*() {
      const records = yield* Stream.runCollect(run({ stopOn }))
      assert.deepInclude(records.at(-1), { _tag: "Finished", reason: "completed" })
    }).pipe(Effect.provide(layer(0))))

  it.effect.each(
    [
      [{ stopOn: "optim/entropi" }, "health.stopOn is optim/entropi, expected metrics with a healthy range"],
      [{ stopOn: "grad_norm" }, "health.stopOn is grad_norm"]
    ] as const
  )("refuses %o", ([health, message]) =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Stream.runDrain(run(health)))
      assert.include(error.message, message)
      assert.deepStrictEqual(yield* RunStore.RunStore.use((store) => Stream.runCollect(store.read)), [])
    }).pipe(Effect.provide(Task.layer({ models: { [Script.defaultModel]: {} } }))))
})
