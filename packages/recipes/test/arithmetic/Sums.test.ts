import { Message } from "@effect-rl/core"
import { Sums } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createHash } from "node:crypto"
import * as TestModel from "../TestModel.ts"

describe("held-out pairs", () => {
  it("are the 256 pairs that the embedded models did not see in pretraining", () => {
    assert.strictEqual(Sums.heldOutPairs.length, 256)
    assert.strictEqual(
      createHash("sha256").update(JSON.stringify(Sums.heldOutPairs)).digest("hex"),
      "206b139f16301da0801cb7a8aa1ac038b74bc872a2eb70695f85a2621e039898"
    )
  })

  it("are held out in either order, but the worked example is not held out", () => {
    for (const [a, b] of Sums.heldOutPairs) assert.isTrue(Sums.isHeldOut(a, b) && Sums.isHeldOut(b, a), `${a} + ${b}`)
    assert.isFalse(Sums.isHeldOut(4, 5))
  })
})

const operands = (key: string) => key.replace(/^.*\//, "").split("+").map(Number)

const dataset = Effect.map(
  TestModel.model,
  (model) => Sums.dataset(Sums.boxed, { model, batches: 25, groupsPerBatch: 32, groupSize: 8 })
)

describe("sums in a box", () => {
  it.effect("contain no held-out pair in training, in either order", () =>
    Effect.gen(function*() {
      const { batch, length } = yield* dataset
      for (let index = 0; index < length; index++) {
        for (const { key } of yield* batch(index, 0)) {
          const [a = NaN, b = NaN] = operands(key)
          assert.isTrue(a >= 0 && a < 100 && b >= 0 && b < 100, key)
          assert.isFalse(Sums.isHeldOut(a, b) || Sums.isHeldOut(b, a), key)
        }
      }
    }))

  it.effect("evaluates 256 pairs in both orders", () =>
    Effect.gen(function*() {
      const groups = Sums.heldOut(yield* TestModel.model)
      assert.strictEqual(groups.length, 512)
      assert.strictEqual(new Set(groups.map(({ key }) => key)).size, 512)
      for (const { key, size } of groups) {
        const [a = NaN, b = NaN] = operands(key)
        assert.isTrue(Sums.isHeldOut(a, b), key)
        assert.strictEqual(size, 1)
      }
    }))

  it.effect("gives the same batch for the same index and seed, and a different batch otherwise", () =>
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

describe("plain sums", () => {
  it("draws the cookbook's problems", () => {
    assert.deepStrictEqual(Sums.plain.pairs(0, 4, 0), [[44, 47], [64, 67], [67, 9], [83, 21]])
    assert.deepStrictEqual(Sums.plain.pairs(1, 4, 0), [[37, 12], [72, 9], [75, 5], [79, 64]])
    assert.deepStrictEqual(Sums.plain.pairs(2, 4, 0), [[40, 15], [72, 22], [43, 82], [75, 7]])
  })

  it("stays in range over many draws, including both ends", () => {
    const drawn = Sums.plain.pairs(3, 5000, 0).flat()
    assert.strictEqual(Math.min(...drawn), 0)
    assert.strictEqual(Math.max(...drawn), 100)
  })

  it("shows one worked example", () => {
    assert.deepStrictEqual(Sums.example.map(Message.text), ["What is 4 + 5?", "9"])
  })

  const rewards: ReadonlyArray<readonly [response: string, reward: number]> = [
    ["107<|im_end|>", 1],
    ["It is 60 + 47 = 107.<|im_end|>", 1],
    ["1,07<|im_end|>", 1],
    ["107", 0.9],
    ["107, not 108<|im_end|>", 0],
    ["-107<|im_end|>", 0],
    ["a hundred and seven<|im_end|>", 0],
    ["no idea", -0.1]
  ]

  it.effect.each(rewards)("%s earns %s", ([response, reward]) =>
    Effect.gen(function*() {
      const env = Sums.plain.env(yield* TestModel.model, 60, 47)
      const step = yield* env.step({ tokens: TestModel.tokenizer.encode(response) })
      assert.closeTo(step.reward, reward, 1e-12)
    }))
})
