import { Loss, Pace, Rl, RunRecord, RunStore } from "@effect-rl/core"
import type { DynamicSampling } from "@effect-rl/core/program"
import { Script } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Task from "./Task.ts"

/** Half of the answers to each epoch's second batch are right; all other answers are wrong. */
const everySecond = Script.reply(Task.tokenizer, (prompt, { seed = 0 }) => {
  const answer = Task.sums.slice(2).find(([question]) => prompt.includes(question))?.[1]
  return Task.say(answer !== undefined && seed % 2 === 0 ? answer : "0")
})

const run = (dynamic: DynamicSampling.DynamicSettings, overrides: Task.Overrides = {}, pace = Pace.synchronous) =>
  Stream.unwrap(Effect.map(
    Task.options({ epochs: 3, ...overrides, update: { loss: Loss.ppo() } }),
    (options) => Rl.run({ ...options, rollout: { dynamic }, pace })
  )).pipe(Stream.runCollect)

const updated = (records: ReadonlyArray<RunRecord.RunRecord>) => records.filter(RunRecord.guards.Updated)

const keys = (records: ReadonlyArray<RunRecord.RunRecord>) =>
  records.filter(RunRecord.guards.Credited).map(({ groups }) => groups.map(({ key, verdict }) => `${key} ${verdict}`))

const scripted = Task.layer({ sample: everySecond })

describe("dynamic sampling", () => {
  it.effect("samples additional groups until enough are informative", () =>
    Effect.gen(function*() {
      const records = yield* run({ minInformative: 2 })
      assert.deepStrictEqual(
        keys(records),
        Array(3).fill([
          "sum/2 informative",
          "sum/3 informative",
          "sum/0 filtered",
          "sum/1 filtered"
        ])
      )
      assert.deepStrictEqual(updated(records).map(({ updates }) => updates.length), [1, 1, 1])
    }).pipe(Effect.provide(scripted)))

  it.effect("counts groups that were sampled but not trained on", () =>
    Effect.gen(function*() {
      const [first] = updated(yield* run({ minInformative: 2 }))
      assert.deepInclude(first?.metrics, {
        "groups/total": 4,
        "groups/informative": 2,
        "train/groups": 2,
        "train/discarded_groups": 2,
        "train/discarded_tokens": 16,
        "tokens/sampled": 32
      })
    }).pipe(Effect.provide(scripted)))

  it.effect("takes at most maxBatches batches", () =>
    Effect.gen(function*() {
      const records = yield* run({ minInformative: 100, maxBatches: 2 })
      assert.deepStrictEqual(keys(records).map(({ length }) => length), [4, 4, 4])
    }).pipe(Effect.provide(scripted)))

  it.effect("refuses maxBatches if an iteration samples only one batch", () =>
    Effect.gen(function*() {
      for (const dynamic of [{ maxBatches: 4 }, { minInformative: 0, maxBatches: 3 }]) {
        const error = yield* Effect.flip(run(dynamic))
        assert.deepInclude(error, {
          _tag: "InvalidOption",
          field: "rollout.dynamic.maxBatches",
          found: String(dynamic.maxBatches)
        })
        assert.include(error.message, "expected left out, or rollout.dynamic.minInformative above 0 as well")
      }
      assert.deepStrictEqual(yield* Task.records, [])
    }).pipe(Effect.provide(scripted)))

  it.effect("resumes exactly after an interruption", () =>
    Effect.gen(function*() {
      const dynamic = { minInformative: 2 }
      const whole = yield* run(dynamic).pipe(Effect.provide(RunStore.RunStore.layerMemory, { local: true }))
      yield* run(dynamic, { run: { iterations: 1 } })
      yield* run(dynamic)
      const rewards = (records: ReadonlyArray<RunRecord.RunRecord>) => updated(records).map(({ reward }) => reward)
      assert.deepStrictEqual(keys(yield* Task.records), keys(whole))
      assert.deepStrictEqual(rewards(yield* Task.records), rewards(whole))
    }).pipe(Effect.provide(scripted)))
})

const paces = [
  ["synchronous training", Pace.synchronous],
  ["asynchronous training", Pace.async({ maxStepsOffPolicy: 1 })],
  ["streaming", Pace.streaming({ minibatches: 2 })]
] as const

/** The keys and verdicts of each update's groups, sorted by key. */
const sorted = (records: ReadonlyArray<RunRecord.RunRecord>) => keys(records).map((groups) => groups.toSorted())

describe.each(paces)("dynamic sampling in %s", (_, pace) => {
  it.effect("replaces groups without a signal until enough groups are informative", () =>
    Effect.gen(function*() {
      const records = yield* run({ minInformative: 2 }, {}, pace)
      assert.deepStrictEqual(
        keys(records).map((groups) => groups.filter((group) => group.endsWith("informative")).toSorted()),
        Array(3).fill(["sum/2 informative", "sum/3 informative"])
      )
      const metrics = updated(records).map(({ metrics }) => metrics)
      assert.deepStrictEqual(metrics.map((numbers) => numbers["train/groups"]), [2, 2, 2])
      const total = (name: string) => metrics.reduce((sum, numbers) => sum + (numbers[name] ?? 0), 0)
      assert.lengthOf(keys(records).flat().filter((group) => group.endsWith("filtered")), 6)
      assert.strictEqual(total("train/discarded_groups"), 6)
      assert.strictEqual(total("train/discarded_tokens"), 48)
    }).pipe(Effect.provide(scripted)))

  it.effect("makes updates of minInformative groups, whether a batch has more or fewer", () =>
    Effect.gen(function*() {
      const groups = (minInformative: number) =>
        Effect.map(
          run({ minInformative, maxBatches: 4 }, {}, pace).pipe(
            Effect.provide(RunStore.RunStore.layerMemory, { local: true })
          ),
          (records) => updated(records).map(({ metrics }) => metrics["train/groups"])
        )
      assert.deepStrictEqual(yield* groups(1), [1, 1, 1, 1, 1, 1])
      assert.deepStrictEqual(yield* groups(3), [3, 3])
    }).pipe(Effect.provide(scripted)))

  it.effect("credits the same groups if it is interrupted and resumed", () =>
    Effect.gen(function*() {
      const dynamic = { minInformative: 2 }
      const whole = yield* run(dynamic, {}, pace).pipe(Effect.provide(RunStore.RunStore.layerMemory, { local: true }))
      yield* run(dynamic, { run: { iterations: 1 } }, pace)
      yield* run(dynamic, {}, pace)
      assert.deepStrictEqual(sorted(yield* Task.records).flat().toSorted(), sorted(whole).flat().toSorted())
    }).pipe(Effect.provide(scripted)))
})

describe("dynamic sampling without groups ahead", () => {
  it.effect("samples at most `maxBatches` batches and trains on their informative groups", () =>
    Effect.gen(function*() {
      const records = yield* run({ minInformative: 2, maxBatches: 1 }, {}, Pace.async({ maxStepsOffPolicy: 0 }))
      const constant = ["sum/0 filtered", "sum/1 filtered"]
      const informative = ["sum/2 informative", "sum/3 informative"]
      assert.deepStrictEqual(sorted(records), Array(3).fill([constant, informative]).flat())
      assert.deepStrictEqual(updated(records).map(({ updates }) => updates.length), [0, 1, 0, 1, 0, 1])
    }).pipe(Effect.provide(scripted)))
})
