import { RunStore } from "@effect-rl/core"
import { Contract } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { layer, name, tokenizer, train } from "../src/09-own-backend.ts"

describe("09-own-backend satisfies the backend contract", () => {
  for (const { check, name: rule } of Contract.contract({ baseModel: name, tokenizer })) {
    it.effect(rule, () => Effect.provide(check, layer))
  }
})

describe("09-own-backend", () => {
  it.effect("learns the alphabet from rewards", () =>
    Effect.gen(function*() {
      const rewards = yield* train(30)
      assert.isBelow(rewards[0] ?? NaN, 0.05)
      assert.isAbove(rewards.at(-1) ?? NaN, 0.9)
    }).pipe(Effect.provide([layer, RunStore.RunStore.layerMemory])))
})
