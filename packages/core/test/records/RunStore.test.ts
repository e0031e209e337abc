import { RunRecord, RunStore } from "@effect-rl/core"
import { Json } from "@effect-rl/core/records"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"

const warning = (message: string): RunRecord.Entry => ({ _tag: "Warning", message })

const opened = (continuesAfter: number): RunRecord.Entry => ({
  _tag: "Opened",
  program: "test",
  version: "0.0.0",
  identity: {},
  settings: {},
  capabilities: {},
  iteration: 0,
  iterations: null,
  resumedFrom: null,
  continuesAfter,
  warnings: []
})

describe("RunStore in memory", () => {
  it.effect("numbers records and their segments", () =>
    Effect.gen(function*() {
      const store = yield* RunStore.RunStore
      for (const entry of [opened(-1), warning("a"), opened(0), warning("b")]) yield* store.append(entry)
      const records = yield* Stream.runCollect(store.read)
      assert.deepStrictEqual(records.map(({ segment, sequence }) => [segment, sequence]), [[1, 0], [1, 1], [2, 2], [
        2,
        3
      ]])
    }).pipe(Effect.provide(RunStore.RunStore.layerMemory)))

  it.effect("returns a record's payload", () =>
    Effect.gen(function*() {
      const store = yield* RunStore.RunStore
      const { payload } = yield* store.append(warning("a"), "[1,2]")
      assert.isDefined(payload)
      assert.strictEqual(yield* store.payload(payload), "[1,2]")
      const error = yield* Effect.flip(store.payload({ offset: 7, length: 1 }))
      assert.strictEqual(error.message, "memory: there is no payload 7")
    }).pipe(Effect.provide(RunStore.RunStore.layerMemory)))

  it.effect("can be followed from any record while it is written", () =>
    Effect.gen(function*() {
      const store = yield* RunStore.RunStore
      yield* store.append(warning("a"))
      yield* store.append(warning("b"))
      const following = yield* Effect.forkChild(Stream.runCollect(Stream.take(store.follow(0), 3)))
      yield* Effect.yieldNow
      yield* store.append(warning("c"))
      yield* Effect.yieldNow
      yield* store.append(warning("d"))
      const records = yield* Fiber.join(following)
      assert.deepStrictEqual(records.map(({ sequence }) => sequence), [1, 2, 3])
    }).pipe(Effect.provide(RunStore.RunStore.layerMemory)))
})

it.effect("RunRecord.current leaves out records that a resume abandoned", () =>
  Effect.gen(function*() {
    const store = yield* RunStore.RunStore
    for (const entry of [opened(-1), warning("kept"), warning("abandoned"), opened(1), warning("after")]) {
      yield* store.append(entry)
    }
    const story = RunRecord.current(yield* Stream.runCollect(store.read))
    assert.deepStrictEqual(story.map(({ sequence }) => sequence), [0, 1, 3, 4])
  }).pipe(Effect.provide(RunStore.RunStore.layerMemory)))

it("Json.number converts a number that JSON cannot represent to a string", () => {
  assert.deepStrictEqual([1.5, NaN, -Infinity].map(Json.number), [1.5, "NaN", "-Infinity"])
})
