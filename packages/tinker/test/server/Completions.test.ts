import * as Completions from "@effect-rl/tinker/server/Completions"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"

describe("a poll for all requests of a target", () => {
  it.effect("waits until one is finished", () =>
    Effect.gen(function*() {
      const completions = Completions.make()
      const waiting = yield* Effect.forkChild(completions.after("target", 0, Effect.never))
      yield* Effect.yieldNow
      assert.isUndefined(waiting.pollUnsafe())
      yield* completions.finished("other", "two", "finished")
      yield* Effect.yieldNow
      assert.isUndefined(waiting.pollUnsafe())
      yield* completions.finished("target", "one", "failed")
      const { completions: found } = yield* Fiber.join(waiting)
      assert.deepStrictEqual(found, [{ request_id: "one", state: "failed" }])
    }))

  it.effect("returns nothing and the same cursor if its patience ends first", () =>
    Effect.gen(function*() {
      const page = yield* Completions.make().after("target", 7, Effect.void)
      assert.deepStrictEqual(page, { completions: [], cursor: 7 })
    }))

  it.effect("does not return completions before its cursor again", () =>
    Effect.gen(function*() {
      const completions = Completions.make()
      for (const id of ["one", "two", "three"]) yield* completions.finished("target", id, "finished")
      const idsAfter = (cursor: number) =>
        Effect.map(
          completions.after("target", cursor, Effect.void),
          (page) => page.completions.map(({ request_id }) => request_id)
        )
      assert.deepStrictEqual(yield* idsAfter(0), ["one", "two", "three"])
      assert.deepStrictEqual(yield* idsAfter(2), ["three"])
      assert.deepStrictEqual(yield* idsAfter(0), ["three"])
    }))

  it.effect("does not return forgotten results", () =>
    Effect.gen(function*() {
      const completions = Completions.make()
      yield* completions.finished("target", "one", "finished")
      completions.forgotten("target", "one")
      assert.deepStrictEqual(yield* completions.after("target", 0, Effect.void), { completions: [], cursor: 0 })
    }))
})
