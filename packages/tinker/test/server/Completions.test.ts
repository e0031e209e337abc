import * as Completions from "@effect-rl/tinker/server/Completions"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"

describe("a poll for all requests of a target", () => {
  it.effect("is held until one is finished", () =>
    Effect.gen(function*() {
      const completions = Completions.make()
      completions.begun("target", "one")
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

  it.effect("has no more to say, and the same cursor, when its patience is over", () =>
    Effect.gen(function*() {
      const page = yield* Completions.make().after("target", 7, Effect.void)
      assert.deepStrictEqual(page, { completions: [], cursor: 7 })
    }))

  it.effect("finds nothing of results that are forgotten", () =>
    Effect.gen(function*() {
      const completions = Completions.make()
      completions.begun("target", "one")
      yield* completions.finished("target", "one", "finished")
      completions.forgotten("target", "one")
      assert.deepStrictEqual(yield* completions.after("target", 0, Effect.void), { completions: [], cursor: 0 })
    }))
})
