import { Rl, RunRecord } from "@effect-rl/core"
import { assert, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Task from "../rl/Task.ts"

const train = (seed: number, until: (record: RunRecord.RunRecord) => boolean = () => false) =>
  Effect.flatMap(
    Task.options({ run: { seed } }),
    (options) => Stream.runCollect(Stream.takeUntil(Rl.run(options), until))
  )

const rolledOut = (records: ReadonlyArray<RunRecord.RunRecord>) => records.filter(RunRecord.guards.GroupRolledOut)

it.effect("a run restarted with other options never reuses earlier groups, however often it is opened", () =>
  Effect.gen(function*() {
    const first = rolledOut(yield* train(1, RunRecord.guards.GroupRolledOut))
    yield* train(2, RunRecord.guards.Opened)
    const groups = rolledOut(yield* train(2))
    assert.lengthOf(first, 1)
    assert.lengthOf(groups, 4)
    assert.isEmpty(groups.filter(({ recalled }) => recalled !== undefined))
  }).pipe(Effect.provide(Task.layer())))

it.effect("a run resumed with the same options reuses the groups recorded before it was stopped, however often it is opened", () =>
  Effect.gen(function*() {
    yield* train(1, RunRecord.guards.GroupRolledOut)
    yield* train(1, RunRecord.guards.Opened)
    const before = rolledOut(yield* Task.records)
    assert.isNotEmpty(before)
    const groups = rolledOut(yield* train(1))
    assert.deepStrictEqual(groups.flatMap(({ recalled }) => recalled ?? []), before.map(({ sequence }) => sequence))
  }).pipe(Effect.provide(Task.layer())))
