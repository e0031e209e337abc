/** Compares the engine's results at each pace with those of synchronous training. */
import { ChatModel, Loss, Pace, Rl, RunRecord, RunStore } from "@effect-rl/core"
import { Engine } from "@effect-rl/engine"
import { Sums } from "@effect-rl/recipes"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, Stream } from "effect"
import { createHash } from "node:crypto"

const engine = Layer.unwrap(Effect.map(
  FileSystem.FileSystem.use((fs) => fs.makeTempDirectoryScoped()),
  (checkpoints) => Engine.layerOptions({ checkpoints, workers: 1 })
)).pipe(Layer.provideMerge(NodeServices.layer))

const train = (pace: Pace.Pace) =>
  Effect.gen(function*() {
    const model = yield* ChatModel.resolve("effect-rl/tiny-64")
    return yield* Stream.runCollect(Rl.run({
      model,
      dataset: Sums.dataset(Sums.boxed, { model, batches: 3, groupsPerBatch: 4, groupSize: 4 }),
      lora: { rank: 8 },
      sampling: { maxTokens: 24 },
      update: { learningRate: 1e-3, loss: Loss.ppo() },
      run: { evalEvery: 0 },
      pace
    }))
  }).pipe(Effect.provide(RunStore.RunStore.layerMemory, { local: true }))

const numbers = (records: ReadonlyArray<RunRecord.RunRecord>) =>
  records.filter(RunRecord.guards.Updated).map(({ metrics, updates }) => ({
    metrics: Object.entries(metrics).filter(([name]) => !name.startsWith("time/") && !name.startsWith("async/")),
    optimizer: updates.map(({ metrics }) => metrics)
  }))

const groups = (records: ReadonlyArray<RunRecord.RunRecord>) =>
  records.filter(RunRecord.guards.GroupRolledOut).map(({ iteration, key, rewards }) => `${iteration} ${key} ${rewards}`)
    .toSorted()

/** Rounds numbers to nine digits: the last digits of `Math.exp`, `Math.log` and `Math.pow` differ between versions of V8. */
const rounded = (_: string, value: unknown) =>
  typeof value === "number" && !Number.isInteger(value) ? Number(value.toPrecision(9)) : value

const digest = (records: ReadonlyArray<RunRecord.RunRecord>) =>
  createHash("sha256").update(JSON.stringify([groups(records), numbers(records)], rounded)).digest("hex").slice(0, 16)

describe("On the engine", () => {
  it.live("synchronous and streaming training reproduce their recorded results", () =>
    Effect.gen(function*() {
      assert.strictEqual(digest(yield* train(Pace.synchronous)), "8780407ca2dc0b83")
      assert.strictEqual(digest(yield* train(Pace.streaming({ minibatches: 2 }))), "80393f7d85cdb458")
    }).pipe(Effect.provide(engine)), 120_000)

  it.live(
    "asynchronous training with no off-policy steps equals synchronous training, bit for bit",
    () =>
      Effect.gen(function*() {
        const expected = yield* train(Pace.synchronous)
        const found = yield* train(Pace.async({ maxStepsOffPolicy: 0 }))
        assert.deepStrictEqual(groups(found), groups(expected))
        assert.deepStrictEqual(numbers(found), numbers(expected))
        assert.isTrue(numbers(expected).some(({ optimizer }) => optimizer.length > 0))
      }).pipe(Effect.provide(engine))
  )

  it.live("streaming minibatches have the gradients of synchronous training", () =>
    Effect.gen(function*() {
      const [expected] = numbers(yield* train(Pace.synchronous))
      const [found] = numbers(yield* train(Pace.streaming({ minibatches: 4 })))
      const [step] = expected?.optimizer ?? []
      assert.isDefined(step)
      for (const [name, value] of Object.entries(step)) {
        assert.approximately(found?.optimizer[0]?.[name] ?? NaN, value, 1e-5 * Math.max(1, Math.abs(value)), name)
      }
      assert.isNotEmpty(Object.keys(step))
    }).pipe(Effect.provide(engine)), 120_000)
})
