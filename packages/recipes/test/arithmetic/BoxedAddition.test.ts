import { BoxedAddition, HeldOutPairs } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as TestModel from "../TestModel.ts"

const operands = (key: string) => key.replace(/^.*\//, "").split("+").map(Number)

const dataset = Effect.map(
  TestModel.model,
  (model) => BoxedAddition.dataset({ model, batches: 25, groupsPerBatch: 32, groupSize: 8 })
)

describe("BoxedAddition", () => {
  it.effect("never trains on a held-out pair, in either order", () =>
    Effect.gen(function*() {
      const { batch, length } = yield* dataset
      for (let index = 0; index < length; index++) {
        for (const { key } of yield* batch(index, 0)) {
          const [a = NaN, b = NaN] = operands(key)
          assert.isTrue(a >= 0 && a < 100 && b >= 0 && b < 100, key)
          assert.isFalse(HeldOutPairs.isHeldOut(a, b) || HeldOutPairs.isHeldOut(b, a), key)
        }
      }
    }))

  it.effect("evaluates 256 pairs in both orders", () =>
    Effect.gen(function*() {
      const groups = BoxedAddition.heldOut(yield* TestModel.model)
      assert.strictEqual(groups.length, 512)
      assert.strictEqual(new Set(groups.map(({ key }) => key)).size, 512)
      for (const { key, size } of groups) {
        const [a = NaN, b = NaN] = operands(key)
        assert.isTrue(HeldOutPairs.isHeldOut(a, b), key)
        assert.strictEqual(size, 1)
      }
    }))

  it.effect("gives the same batch for the same index and seed, and another otherwise", () =>
    Effect.gen(function*() {
      const { batch } = yield* dataset
      const keys = (index: number, seed: number) =>
        Effect.map(batch(index, seed), (groups) => groups.map(({ key }) => key))
      const first = yield* keys(3, 7)
      assert.strictEqual(first.length, 32)
      assert.strictEqual(new Set(first).size, 32)
      assert.deepStrictEqual(yield* keys(3, 7), first)
      assert.notDeepEqual(yield* keys(4, 7), first)
      assert.notDeepEqual(yield* keys(3, 8), first)
    }))
})
