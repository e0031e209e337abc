import { RunStore } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { layer, train } from "../src/12-own-backend.ts"
import { replay } from "../src/13-replay.ts"

describe("13-replay", () => {
  it.effect("learns from what was right before as well", () =>
    Effect.gen(function*() {
      const rewards = yield* train(20, replay({ capacity: 400, count: 100 }))
      assert.isBelow(rewards[0] ?? NaN, 0.05)
      assert.isAbove(rewards.at(-1) ?? NaN, 0.8)
    }).pipe(Effect.provide([layer, RunStore.RunStore.layerMemory])))
})
