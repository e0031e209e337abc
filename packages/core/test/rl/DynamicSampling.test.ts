import { type DynamicSampling, Rl, RunRecord, RunStore } from "@effect-rl/core"
import { Script } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Task from "./Task.ts"

/** Half of the answers to the second batch of each epoch are right, and none of the others. */
const everySecond = Script.reply(Task.tokenizer, (prompt, { seed = 0 }) => {
  const answer = Task.sums.slice(2).find(([question]) => prompt.includes(question))?.[1]
  return Task.say(answer !== undefined && seed % 2 === 0 ? answer : "0")
})

const run = (dynamic: DynamicSampling.DynamicSettings, overrides: Task.Overrides = {}) =>
  Stream.unwrap(Effect.map(
    Task.options({ epochs: 3, ...overrides }),
    (options) => Rl.run({ ...options, rollout: { dynamic } })
  )).pipe(Stream.runCollect)

const updated = (records: ReadonlyArray<RunRecord.RunRecord>) => records.filter(RunRecord.guards.Updated)

const keys = (records: ReadonlyArray<RunRecord.RunRecord>) =>
  records.filter(RunRecord.guards.Credited).map(({ groups }) => groups.map(({ key, verdict }) => `${key} ${verdict}`))

const scripted = Task.layer({ sample: everySecond })

describe("Dynamic sampling", () => {
  it.effect("goes on with the next batches until enough groups are informative", () =>
    Effect.gen(function*() {
      const records = yield* run({ minInformative: 2 })
      assert.deepStrictEqual(
        keys(records),
        Array(3).fill([
          "sum/0 constant",
          "sum/1 constant",
          "more1/sum/2 informative",
          "more1/sum/3 informative"
        ])
      )
      assert.deepStrictEqual(updated(records).map(({ updates }) => updates.length), [1, 1, 1])
    }).pipe(Effect.provide(scripted)))

  it.effect("counts groups that were sampled and not trained on", () =>
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

  it.effect("takes no more than its most batches", () =>
    Effect.gen(function*() {
      const records = yield* run({ minInformative: 100, maxBatches: 2 })
      assert.deepStrictEqual(keys(records).map(({ length }) => length), [4, 4, 4])
    }).pipe(Effect.provide(scripted)))

  it.effect("goes on exactly where it was interrupted", () =>
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
