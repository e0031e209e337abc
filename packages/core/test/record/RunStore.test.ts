import { RunStore } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"

describe("a run in memory", () => {
  it.effect("has no configuration until it is written", () =>
    Effect.gen(function*() {
      const store = yield* RunStore.RunStore
      assert.deepStrictEqual(yield* store.config, Option.none())
      yield* store.writeConfig({ learningRate: 1e-4 })
      assert.deepStrictEqual(yield* store.config, Option.some({ learningRate: 1e-4 }))
    }).pipe(Effect.provide(RunStore.RunStore.layerMemory)))

  it.effect("keeps each series apart and in order", () =>
    Effect.gen(function*() {
      const store = yield* RunStore.RunStore
      yield* store.append("metrics", { step: 0 })
      yield* store.append("events", { done: true })
      yield* store.append("metrics", { step: 1 })
      assert.deepStrictEqual(yield* store.read("metrics"), [{ step: 0 }, { step: 1 }])
      assert.deepStrictEqual(yield* store.read("events"), [{ done: true }])
      assert.deepStrictEqual(yield* store.read("checkpoints"), [])
    }).pipe(Effect.provide(RunStore.RunStore.layerMemory)))
})

it("a number that JSON cannot say is written in words", () => {
  assert.deepStrictEqual([1.5, NaN, -Infinity].map(RunStore.jsonNumber), [1.5, "NaN", "-Infinity"])
})
