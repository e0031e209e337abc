import { Governor, Loss, Pace, Rl, RunRecord, RunStore } from "@effect-rl/core"
import { type Call, Script } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import * as Task from "./Task.ts"

type Settings = Governor.GovernorSettings

const run = (governor: Settings, overrides: Task.Overrides = {}, pace: Pace.Pace = Pace.synchronous) =>
  Stream.unwrap(Effect.map(
    Task.options({ epochs: 2, ...overrides }),
    (options) => Rl.run({ ...options, pace, update: { learningRate: 1e-2, loss: Loss.ppo(), governor } })
  ))

const updated = (records: ReadonlyArray<RunRecord.RunRecord>) => records.filter(RunRecord.guards.Updated)

const rates = (records: ReadonlyArray<RunRecord.RunRecord>) =>
  updated(records).flatMap(({ updates }) => updates.map(({ learningRate }) => learningRate))

const warnings = (records: ReadonlyArray<RunRecord.RunRecord>) =>
  records.filter(RunRecord.guards.Warning).map(({ message }) => message)

/** The trainer finds the first sequence of each pass likelier than the sampler did, by so much per token, and the others as likely. */
const drifted = (logRatio: number) => ({ data }: Call.Call & { readonly _tag: "ForwardBackward" | "Forward" }) => ({
  logprobs: data.map(({ modelInput }, index) =>
    new Float32Array(modelInput.length).fill(-0.5 + (index === 0 ? logRatio : 0))
  ),
  metrics: { "loss:sum": 0 }
})

/** A backend on which one of an update's 8 sequences of two tokens decides it, the more the larger the log-ratio. */
const layer = (logRatio: number) =>
  Task.layer({ sample: Task.answersHalf, forwardBackward: (pass) => drifted(logRatio)(pass) })

const effectiveShare = (logRatio: number, sequences: number, tokens: number) => {
  const weight = Math.exp(logRatio * tokens)
  return (weight + sequences - 1) ** 2 / (sequences * (weight ** 2 + sequences - 1))
}

describe("A governor that scales the learning rate", () => {
  it.prop("scales by the root of the effective share below its base, and not at all above", [
    Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })),
    Schema.Finite.check(Schema.isBetween({ minimum: 0.01, maximum: 1 }))
  ], ([share, base]) => {
    const scale = Governor.scale(share, base)
    if (share >= base) return assert.strictEqual(scale, 1)
    assert.closeTo(scale ** 2 * base, share, 1e-9)
    assert.isAtMost(Governor.scale(share / 2, base), scale)
  })

  it.effect("takes the effective sample size of the very update", () =>
    Effect.gen(function*() {
      const records = yield* Stream.runCollect(run({ essBase: 1 }))
      const shares = updated(records).map(({ metrics }) => metrics["optim/effective_sample_size_sequences"] ?? NaN)
      assert.closeTo(shares[0] ?? NaN, effectiveShare(1, 8, 2), 1e-6)
      rates(records).forEach((rate, index) => assert.closeTo(rate, 1e-2 * Math.sqrt(shares[index] ?? NaN), 1e-9))
      updated(records).forEach(({ metrics }, index) =>
        assert.closeTo(metrics["governor/learning_rate_scale"] ?? NaN, Math.sqrt(shares[index] ?? NaN), 1e-6)
      )
    }).pipe(Effect.provide(layer(1))))

  it.effect("warns of an update that few sequences decide", () =>
    Effect.gen(function*() {
      const records = yield* Stream.runCollect(run({ essBase: 1 }))
      assert.strictEqual(
        warnings(records)[0],
        "the governor scaled the learning rate of iteration 0 to 40 %: few sequences decide its update"
      )
      assert.lengthOf(warnings(records), updated(records).length)
    }).pipe(Effect.provide(layer(2))))

  it.effect("scales each optimizer step by its own data, streamed or not", () =>
    Effect.gen(function*() {
      for (const pace of [Pace.async({ maxStepsOffPolicy: 0 }), Pace.streaming({ minibatches: 2 })]) {
        const records = yield* Stream.runCollect(run({ essBase: 1 }, {}, pace)).pipe(
          Effect.provide(layer(1), { local: true })
        )
        const [first = NaN] = rates(records)
        const metrics = updated(records)[0]?.metrics ?? {}
        assert.closeTo(first, 1e-2 * Math.sqrt(metrics["optim/effective_sample_size_sequences"] ?? NaN), 1e-9)
        assert.isBelow(first, 1e-2)
      }
    }))

  it.effect("changes nothing where the weights have not moved, nor where it is off", () =>
    Effect.gen(function*() {
      const off = yield* Stream.runCollect(run({})).pipe(Effect.provide(layer(1), { local: true }))
      const unmoved = yield* Stream.runCollect(run({ essBase: 1 })).pipe(Effect.provide(layer(0), { local: true }))
      assert.isTrue([...rates(off), ...rates(unmoved)].every((rate) => rate === 1e-2))
      assert.deepStrictEqual(warnings([...off, ...unmoved]), [])
      assert.notProperty(updated(off)[0]?.metrics, "governor/learning_rate_scale")
    }))

  it.effect("acts in a resumed run as in one that was not interrupted", () =>
    Effect.gen(function*() {
      const fresh = Effect.provide(layer(1), { local: true })
      const whole = yield* fresh(Stream.runCollect(run({ essBase: 0.9 })))
      const resumed = yield* fresh(Effect.gen(function*() {
        yield* Stream.runDrain(Stream.takeUntil(run({ essBase: 0.9 }), RunRecord.guards.Updated))
        yield* Stream.runDrain(run({ essBase: 0.9 }))
        return RunRecord.current(yield* Task.records)
      }))
      assert.deepStrictEqual(rates(resumed), rates(whole))
    }))

  it.effect("is part of the run's identity", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(run({ essBase: 0.5 }, { run: { iterations: 1 } }))
      const { message } = yield* Effect.flip(Stream.runDrain(run({})))
      assert.include(message, "was started with governor {\"ess_base\":0.5}")
    }).pipe(Effect.provide(layer(0))))
})

describe("A governor that ends the run", () => {
  const stopOn = "optim/entropy, optim/effective_sample_size"

  it.effect("fails with the sign after the iteration that has it, which is recorded and saved", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Stream.runDrain(run({ stopOn })))
      assert.instanceOf(error, Governor.Unhealthy)
      assert.include(error.message, "iteration 0: optim/effective_sample_size is 0.2")
      assert.include(error.message, "healthy is from 0.5")
      const records = yield* Task.records
      assert.lengthOf(updated(records), 1)
      assert.strictEqual(warnings(records)[0], `the governor ends the run: ${error.message}`)
      assert.deepInclude(records.find(RunRecord.guards.Failed), { error: "Unhealthy", iteration: 1 })
      assert.deepInclude(records.findLast(RunRecord.guards.Saved), { iteration: 1, kind: "interrupted" })
    }).pipe(Effect.provide(layer(3))))

  it.effect("gives every record to the stream before it fails, the last checkpoint too, in the store's order", () =>
    Effect.gen(function*() {
      const given: Array<RunRecord.RunRecord> = []
      const training = Stream.runForEach(run({ stopOn }), (record) => Effect.sync(() => given.push(record)))
      assert.instanceOf(yield* Effect.flip(training), Governor.Unhealthy)
      assert.deepStrictEqual(given, yield* Task.records)
      assert.deepStrictEqual(given.slice(-2).map(({ _tag }) => _tag), ["Failed", "Saved"])
    }).pipe(Effect.provide(layer(3))))

  it.effect("lets the run go on from its checkpoint where it is resumed without the governor", () =>
    Effect.gen(function*() {
      yield* Effect.ignore(Stream.runDrain(run({ stopOn })))
      const records = yield* Stream.runCollect(run({}))
      assert.deepInclude(records[0], { _tag: "Opened", iteration: 1 })
      assert.deepInclude(records.at(-1), { _tag: "Finished", reason: "completed" })
    }).pipe(Effect.provide(layer(3))))

  it.effect("does nothing in a healthy run", () =>
    Effect.gen(function*() {
      const records = yield* Stream.runCollect(run({ stopOn }))
      assert.deepInclude(records.at(-1), { _tag: "Finished", reason: "completed" })
    }).pipe(Effect.provide(layer(0))))

  it.effect.each(
    [
      [{ stopOn: "optim/entropi" }, "update.governor.stopOn is optim/entropi, expected metrics with a healthy range"],
      [{ stopOn: "grad_norm" }, "update.governor.stopOn is grad_norm"],
      [{ essBase: 0 }, "update.governor.essBase is 0, expected a number above 0 up to 1"]
    ] as const
  )("refuses %o", ([governor, message]) =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Stream.runDrain(run(governor)))
      assert.include(error.message, message)
      assert.deepStrictEqual(yield* RunStore.RunStore.use((store) => Stream.runCollect(store.read)), [])
    }).pipe(Effect.provide(Task.layer({ models: { [Script.defaultModel]: {} } }))))
})
