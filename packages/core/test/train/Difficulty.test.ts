// Which problems come next depends on how the earlier ones went: a run that was stopped anywhere and resumed asks the same
// problems as one that was not.
import { Difficulty, RunStore, Train } from "@effect-rl/core"
import { assert, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Task from "./Task.ts"

const iterations = 8

const run = Stream.unwrap(Effect.map(Task.config({ saveEvery: 2 }), ({ dataset, ...config }) =>
  Train.run({
    ...config,
    dataset: Difficulty.sample(dataset, {
      weight: Difficulty.learnability({ success: 1, least: 0.01 }),
      groupsPerBatch: 2,
      batches: iterations
    })
  })))

const record = (record: RunStore.JsonObject) => [record["step"], record["key"]]

const events = RunStore.RunStore.use((store) => store.read("events"))

/** The groups of each iteration, as it was last written. */
const asked = Effect.map(events, (all) => {
  const byStep = new Map<unknown, Array<unknown>>()
  let last = -1
  for (const [step, key] of all.map(record)) {
    if (step !== last) byStep.set(step, [])
    last = Number(step)
    byStep.get(step)?.push(key)
  }
  return [...byStep.values()]
})

const fresh = Task.layer({ sample: Task.answersHalf })

const uninterrupted = Effect.provide(Effect.andThen(Stream.runDrain(run), asked), fresh, { local: true })

it.effect("an interrupted run goes on with the problems of an uninterrupted one", () =>
  Effect.gen(function*() {
    const expected = yield* uninterrupted
    assert.strictEqual(expected.length, iterations)
    for (let stop = 1; stop < iterations; stop++) {
      const resumed = yield* Effect.gen(function*() {
        yield* run.pipe(
          Stream.takeUntil((event) => event._tag === "Iteration" && event.iteration === stop - 1),
          Stream.runDrain
        )
        yield* Stream.runDrain(run)
        return yield* asked
      }).pipe(Effect.provide(fresh, { local: true }))
      assert.deepStrictEqual(resumed, expected, `stopped after ${stop}`)
    }
  }))

it.effect("what was written after the checkpoint is not remembered", () =>
  Effect.gen(function*() {
    const expected = yield* uninterrupted
    const resumed = yield* Effect.gen(function*() {
      yield* run.pipe(
        Stream.takeUntil((event) => event._tag === "Saved" && event.iteration === 4),
        Stream.runDrain
      )
      const store = yield* RunStore.RunStore
      yield* store.append("events", { type: "group", step: 4, result: "Completed", key: "sum/0", rewards: [1, 1] })
      yield* store.append("events", { type: "group", step: 5, result: "Completed", key: "sum/1", rewards: [1, "NaN"] })
      yield* Stream.runDrain(run)
      return yield* asked
    }).pipe(Effect.provide(fresh, { local: true }))
    assert.deepStrictEqual(resumed, expected)
  }))

it.effect("a journal that cannot be read is an error that says where", () =>
  Effect.gen(function*() {
    yield* run.pipe(Stream.takeUntil((event) => event._tag === "Saved"), Stream.runDrain)
    const store = yield* RunStore.RunStore
    yield* store.append("events", { type: "group", step: 0, key: "sum/0", rewards: "many" })
    const error = yield* Effect.flip(Stream.runDrain(run))
    assert.strictEqual(error._tag, "RunError")
    assert.include(error.message, "a group in its events")
  }).pipe(Effect.provide(fresh)))
