import { RunStore } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { layer, train } from "../src/09-own-backend.ts"
import { replay } from "../src/10-replay.ts"

/** A separate backend and record store for each program. */
const fresh = Effect.provide(Layer.mergeAll(layer, RunStore.RunStore.layerMemory), { local: true })

const replaying = replay({ capacity: 400, count: 100 })

describe("10-replay", () => {
  it.effect("learns the alphabet with replayed datums", () =>
    Effect.gen(function*() {
      const rewards = yield* fresh(train(20, replaying))
      assert.isBelow(rewards[0] ?? NaN, 0.05)
      assert.isAbove(rewards.at(-1) ?? NaN, 0.8)
    }))

  it.effect("resumes with the rewards of an uninterrupted run", () =>
    Effect.gen(function*() {
      const whole = yield* fresh(train(8, replaying))
      const resumed = yield* fresh(Effect.andThen(train(4, replaying), train(8, replaying)))
      assert.deepStrictEqual(resumed, whole.slice(4))
    }))
})
