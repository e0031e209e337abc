import { Advantage, Credit, Rl, RunRecord } from "@effect-rl/core"
import { StoredDatum } from "@effect-rl/core/program"
import { Call } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import * as Task from "./Task.ts"

const Buffer = Schema.Array(StoredDatum.StoredDatum)

/** A credit that trains once more on all data of the previous iteration. */
const again: Credit.Credit = {
  ...Credit.groupRelative(Advantage.centered),
  name: "again",
  assign: Effect.fnUntraced(function*(groups, memory, weights) {
    const replayed = memory === null ? [] : yield* Effect.orDie(Schema.decodeUnknownEffect(Buffer)(memory))
    const assigned = yield* Credit.groupRelative(Advantage.centered).assign(groups, null, weights)
    const own = assigned.groups.flatMap(({ data }) => data)
    return { ...assigned, replayed, memory: yield* Effect.orDie(Schema.encodeEffect(Buffer)(own)) }
  })
}

const run = (update: { readonly credit: Credit.Credit; readonly substeps?: number }) =>
  Effect.gen(function*() {
    const options = yield* Task.options({ epochs: 2, update, run: { saveEvery: 1 } })
    const records = yield* Stream.runCollect(Rl.run(options))
    const calls = yield* Call.CallLog.use(({ calls }) => calls)
    return {
      updated: records.filter(RunRecord.guards.Updated),
      credited: records.filter(RunRecord.guards.Credited),
      passes: calls.flatMap((call) => call._tag === "ForwardBackward" ? [call.data] : [])
    }
  })

const fresh = () => Task.layer({ sample: Task.answersHalf })

describe("datums that a credit replays", () => {
  it.effect("are appended to the iteration's datums, unchanged", () =>
    Effect.gen(function*() {
      const { passes } = yield* run({ credit: again })
      assert.deepStrictEqual(passes.map(({ length }) => length), [8, 16, 16, 16])
      assert.deepStrictEqual(passes[1]?.slice(8), passes[0])
    }).pipe(Effect.provide(fresh())))

  it.effect("are divided among the substeps of an iteration", () =>
    Effect.gen(function*() {
      const { passes } = yield* run({ credit: again, substeps: 2 })
      assert.deepStrictEqual(passes.map(({ length }) => length), [4, 4, 8, 8, 8, 8, 8, 8])
    }).pipe(Effect.provide(fresh())))

  it.effect("are recorded as trained on, with their original iteration", () =>
    Effect.gen(function*() {
      const { credited } = yield* run({ credit: again })
      const iterations = credited[2]?.datums.map((datum) => datum.iteration ?? 2)
      assert.deepStrictEqual(iterations, [2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1])
    }).pipe(Effect.provide(fresh())))

  it.effect("are counted apart from the iteration's own datums", () =>
    Effect.gen(function*() {
      const { updated } = yield* run({ credit: again })
      assert.deepStrictEqual(
        updated.map(({ metrics }) => metrics["optim/replayed_datums"]),
        [undefined, 8, 8, 8]
      )
      assert.deepStrictEqual(updated.map(({ metrics }) => metrics["optim/datums"]), [8, 8, 8, 8])
    }).pipe(Effect.provide(fresh())))

  it.effect("are the same after the run was interrupted and resumed", () =>
    Effect.gen(function*() {
      const { passes: expected } = yield* Effect.provide(run({ credit: again }), fresh(), { local: true })
      const options = yield* Task.options({ epochs: 2, update: { credit: again }, run: { saveEvery: 1 } })
      const isSecond = (record: RunRecord.RunRecord) => record._tag === "Updated" && record.iteration === 1
      yield* Stream.runDrain(Stream.takeUntil(Rl.run(options), isSecond))
      const { passes } = yield* run({ credit: again })
      assert.deepStrictEqual(passes, expected)
    }).pipe(Effect.provide(fresh())))
})
