// The choice of problems depends on earlier results. A run that is stopped anywhere and resumed chooses the same problems.
import { Rl, RunRecord, RunStore } from "@effect-rl/core"
import { Difficulty } from "@effect-rl/core/environments"
import { assert, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Task from "./Task.ts"

const iterations = 8

const run = Stream.unwrap(Effect.map(Task.options({ run: { saveEvery: 2 } }), ({ dataset, ...options }) =>
  Rl.run({
    ...options,
    dataset: Difficulty.sample(dataset, {
      weight: Difficulty.learnability({ success: 1, least: 0.01 }),
      groupsPerBatch: 2,
      batches: iterations
    })
  })))

/** Each iteration's groups. */
const asked = Effect.map(
  Task.current(RunRecord.guards.GroupRolledOut),
  (groups) =>
    Array.from(
      { length: iterations },
      (_, iteration) => groups.filter((group) => group.iteration === iteration).map(({ key }) => key)
    )
)

const fresh = Task.layer({ sample: Task.answersHalf })

const uninterrupted = Effect.provide(Effect.andThen(Stream.runDrain(run), asked), fresh, { local: true })

it.effect("an interrupted run continues with the same problems as an uninterrupted one", () =>
  Effect.gen(function*() {
    const expected = yield* uninterrupted
    assert.strictEqual(expected.length, iterations)
    for (let stop = 1; stop < iterations; stop++) {
      const resumed = yield* Effect.gen(function*() {
        yield* run.pipe(
          Stream.takeUntil((record) => record._tag === "Updated" && record.iteration === stop - 1),
          Stream.runDrain
        )
        yield* Stream.runDrain(run)
        return yield* asked
      }).pipe(Effect.provide(fresh, { local: true }))
      assert.deepStrictEqual(resumed, expected, `stopped after ${stop}`)
    }
  }))

it.effect("a resumed run chooses problems without regard to groups that the resume abandoned", () =>
  Effect.gen(function*() {
    const expected = yield* uninterrupted
    const resumed = yield* Effect.gen(function*() {
      yield* run.pipe(
        Stream.takeUntil((record) => record._tag === "Saved" && record.iteration === 4),
        Stream.runDrain
      )
      const store = yield* RunStore.RunStore
      const group = (yield* Task.current(RunRecord.guards.GroupRolledOut))[0]
      assert.isDefined(group)
      const { at: _at, payload: _payload, segment: _segment, sequence: _sequence, ...entry } = group
      yield* store.append({ ...entry, iteration: 4, key: "sum/0", rewards: [1, 1] })
      yield* store.append({ ...entry, iteration: 5, key: "sum/1", rewards: [1, NaN] })
      yield* Stream.runDrain(run)
      return yield* asked
    }).pipe(Effect.provide(fresh, { local: true }))
    assert.deepStrictEqual(resumed, expected)
  }))
