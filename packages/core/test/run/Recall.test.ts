/** A killed run resumes inside an iteration: recorded groups are not sampled again. */
import { type EnvGroupBuilder, Rl, RLDataset, RunRecord, RunStore, TinkerError } from "@effect-rl/core"
import { Metering, Usage } from "@effect-rl/core/backend"
import { Prices } from "@effect-rl/core/program"
import { Spent } from "@effect-rl/core/records"
import { Call, Fault, Script } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import * as Task from "../rl/Task.ts"

const run = (overrides: Task.Overrides = {}) =>
  Stream.unwrap(Effect.map(Task.options({ epochs: 2, ...overrides }), (options) => Rl.run(options)))

const samples = Call.CallLog.use(({ calls }) =>
  Effect.map(calls, (all) => all.filter(({ _tag }) => _tag === "Sample").length)
)

const priced = Stream.provide(Prices.layer({ [Script.defaultModel]: { prefill: 1, sample: 2, train: 3 } }))

const spentBy = (records: ReadonlyArray<RunRecord.RunRecord>) =>
  records.flatMap((record) => "spent" in record ? [record.spent] : []).at(-1) ?? Spent.zero

/** The number of tokens requested from the backend; all answers have the same length. */
const asked = Effect.map(Call.CallLog.use(({ calls }) => calls), (calls) =>
  calls.reduce((sum, call) => {
    if (call._tag === "Sample") return Usage.add(sum, { prefilled: call.request.prompt.length, sampled: 2, trained: 0 })
    if (call._tag !== "ForwardBackward") return sum
    const trained = call.data.reduce((count, { modelInput }) => count + modelInput.length, 0)
    return Usage.add(sum, { ...Usage.zero, trained })
  }, Usage.zero))

/** A store with the first records of another store, as if the run had been killed after them. */
const killedAfter = (
  records: ReadonlyArray<RunRecord.RunRecord>,
  count: number,
  payload: RunStore.RunReader["payload"]
) =>
  Layer.effect(
    RunStore.RunStore,
    Effect.gen(function*() {
      const store = yield* RunStore.RunStore
      for (const record of records.slice(0, count)) {
        const { at: _at, payload: range, segment: _segment, sequence: _sequence, ...entry } = record
        yield* store.append(entry, range === undefined ? undefined : yield* payload(range))
      }
      return store
    })
  ).pipe(Layer.provide(RunStore.RunStore.layerMemory))

const story = (records: ReadonlyArray<RunRecord.RunRecord>) =>
  RunRecord.current(records).flatMap((record): ReadonlyArray<object> => {
    if (record._tag === "GroupRolledOut") {
      return [{ key: record.key, iteration: record.iteration, rewards: record.rewards }]
    }
    if (record._tag !== "Updated") return []
    const metrics = Object.entries(record.metrics).filter(([name]) => !name.startsWith("time/"))
    return [{ iteration: record.iteration, metrics }]
  })

describe("a run killed after any record before its first checkpoint", () => {
  it.effect("ends like the uninterrupted run and samples each recorded group once", () =>
    Effect.gen(function*() {
      const store = yield* RunStore.RunStore
      yield* Stream.runDrain(run())
      const whole = yield* Task.records
      const sampledOnce = yield* samples
      const groups = whole.filter(RunRecord.guards.GroupRolledOut).length
      const perGroup = sampledOnce / groups
      for (let count = 1; count < whole.length; count++) {
        const finished = whole.slice(0, count).filter(RunRecord.guards.GroupRolledOut).length
        // The backend lost its checkpoints with the process; nothing was saved, so every recorded group is reused.
        if (whole.slice(0, count).some(RunRecord.guards.Saved)) break
        yield* Effect.gen(function*() {
          yield* Stream.runDrain(run())
          assert.deepStrictEqual(story(yield* Task.records), story(whole), `killed after ${count} records`)
          assert.strictEqual(yield* samples, (groups - finished) * perGroup, `killed after ${count} records`)
        }).pipe(
          Effect.provide(killedAfter(whole, count, store.payload), { local: true }),
          Effect.provide(backend, { local: true })
        )
      }
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it.effect.each(
    [
      [
        "rewards",
        (payload: string) => payload.replace(/"rewards":\[[01]/, `"rewards":[7`),
        "its payload has rewards 7, "
      ],
      ["tags", (payload: string) => payload.replace(`"tags":[`, `"tags":["other",`), `its payload has tags ["other",`],
      ["tokens", (payload: string) => payload.replace(`"tokens":"`, `"tokens":"AAAA"`), "not a recorded group"],
      [
        "turns",
        (payload: string) => payload.replace(/"turns":\[(\{.*?\})\]\}(?=,\{"stepReward"|\],)/, `"turns":[$1,$1]}`),
        "its payload has members 2, "
      ]
    ] as const
  )(
    "samples a group again and warns if its payload differs from its record: %s",
    ([, change, expected]) =>
      Effect.gen(function*() {
        const store = yield* RunStore.RunStore
        yield* Stream.runDrain(run())
        const whole = yield* Task.records
        const cut = whole.findIndex(RunRecord.guards.Credited)
        const recorded = whole.slice(0, cut).filter(RunRecord.guards.GroupRolledOut)
        const [damaged] = recorded
        assert.isDefined(damaged)
        const payload: RunStore.RunReader["payload"] = (range) =>
          Effect.map(store.payload(range), (text) => range === damaged.payload ? change(text) : text)
        yield* Effect.gen(function*() {
          yield* Stream.runDrain(run())
          const records = yield* Task.records
          assert.deepStrictEqual(story(records), story(whole))
          const [warning, ...others] = records.filter(RunRecord.guards.Warning)
          assert.include(warning?.message, `group "${damaged.key}" is sampled again: ${expected}`)
          assert.deepStrictEqual(others, [])
          const recalled = records.filter(RunRecord.guards.GroupRolledOut).filter(({ recalled }) =>
            recalled !== undefined
          )
          assert.strictEqual(recalled.length, recorded.length - 1)
        }).pipe(
          Effect.provide(killedAfter(whole, cut, payload), { local: true }),
          Effect.provide(backend, { local: true })
        )
      }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf })))
  )

  it.effect("reports the spending of its records plus that of its later requests", () =>
    Effect.gen(function*() {
      const store = yield* RunStore.RunStore
      yield* Stream.runDrain(priced(run()))
      const whole = yield* Task.records
      for (let count = 1; count < whole.length; count++) {
        const before = spentBy(whole.slice(0, count))
        if (whole.slice(0, count).some(RunRecord.guards.Saved)) break
        yield* Effect.gen(function*() {
          yield* Stream.runDrain(priced(run()))
          const { prefilled, sampled, trained } = yield* asked
          const since = { prefilled, sampled, trained, judgeCalls: 0, cached: 0, seconds: 0 }
          const dollars = (prefilled + 2 * sampled + 3 * trained) / 1e6
          const { dollars: total = NaN, ...spent } = spentBy(yield* Task.records)
          const { dollars: _, ...expected } = Spent.add(before, { ...since, dollars })
          assert.deepStrictEqual(spent, expected, `killed after ${count} records`)
          assert.approximately(total, (before.dollars ?? NaN) + dollars, 1e-12, `killed after ${count} records`)
        }).pipe(
          Effect.provide(killedAfter(whole, count, store.payload), { local: true }),
          Effect.provide(backend, { local: true })
        )
      }
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it.effect("counts earlier spending against the budget", () =>
    Effect.gen(function*() {
      const store = yield* RunStore.RunStore
      yield* Stream.runDrain(run())
      const whole = yield* Task.records
      const cut = whole.findIndex((record) => record._tag === "Updated" && record.iteration === 1)
      const spent = whole.slice(0, cut + 1).findLast(RunRecord.guards.Updated)?.spent
      assert.isDefined(spent)
      const limit = Usage.total(spent) + 10
      yield* Effect.gen(function*() {
        const records = yield* Stream.runCollect(run({ run: { maxTokensTotal: limit } }))
        assert.deepInclude(records.at(-1), { _tag: "Finished", reason: "max_tokens_total" })
        assert.isAtMost(Usage.total(records.findLast(RunRecord.guards.GroupRolledOut)?.spent ?? spent), limit)
      }).pipe(
        Effect.provide(killedAfter(whole, cut + 1, store.payload), { local: true }),
        Effect.provide(backend, { local: true })
      )
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))
})

describe("a run that failed", () => {
  const refused = Fault.fail(new TinkerError.Rejected({ detail: "no update" }))

  it.effect("does not sample completed groups again after resuming", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(Stream.runDrain(run()))
      assert.strictEqual(failure._tag, "TinkerError")
      const before = yield* samples
      assert.strictEqual((yield* Task.records).findLast(RunRecord.guards.Failed)?.iteration, 1)
      const records = yield* Stream.runCollect(run())
      assert.deepInclude(records.at(-1), { _tag: "Finished", iteration: 4 })
      const groups = RunRecord.current(yield* Task.records).filter(RunRecord.guards.GroupRolledOut)
      assert.lengthOf(groups, 8)
      const recalled = groups.filter(({ recalled }) => recalled !== undefined)
      assert.deepStrictEqual(recalled.map(({ key }) => key), ["sum/0", "sum/1", "sum/2", "sum/3"])
      assert.strictEqual(before, 4 * 4)
      assert.strictEqual(yield* samples, 8 * 4)
    }).pipe(Effect.provide(Task.layer({
      sample: Task.answersHalf,
      faults: [Fault.call("OptimStep", 1, refused)]
    }))))
})

const backend = Task.backend({ sample: Task.answersHalf })

/** Adds a judge that reads 7 tokens of each group and writes 3. */
const judged = <E, R>(builder: EnvGroupBuilder.EnvGroupBuilder<E, R>): EnvGroupBuilder.EnvGroupBuilder<E, R> => ({
  ...builder,
  open: Effect.tap(
    builder.open,
    () => Effect.flatMap(Metering.Metering, ({ count }) => count("judge", { prefilled: 7, sampled: 3, trained: 0 }))
  )
})

const withJudge = Stream.unwrap(Effect.map(
  Task.options({ epochs: 2 }),
  ({ dataset, ...options }) => Rl.run({ ...options, dataset: RLDataset.map(dataset, judged, { name: "judged" }) })
))

describe("a run with judged groups that ends after any record", () => {
  it.effect("counts the judge's tokens once per group", () =>
    Effect.gen(function*() {
      const totals = Effect.map(
        Task.current(RunRecord.guards.Updated),
        (updates) => updates.map(({ metrics }) => [metrics["tokens/total_prefilled"], metrics["tokens/total_sampled"]])
      )
      const whole = yield* Effect.gen(function*() {
        yield* Stream.runDrain(withJudge)
        return { count: (yield* Task.records).length, totals: yield* totals }
      }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }), { local: true }))
      const members = 2 * 4
      assert.deepStrictEqual(whole.totals[0], [2 * 7 + members * 24, 2 * 3 + members * 2])
      for (let count = 1; count < whole.count; count++) {
        yield* Effect.gen(function*() {
          yield* Stream.runDrain(Stream.take(withJudge, count))
          yield* Stream.runDrain(withJudge)
          assert.deepStrictEqual(yield* totals, whole.totals, `ended after ${count} records`)
        }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }), { local: true }))
      }
    }))
})
