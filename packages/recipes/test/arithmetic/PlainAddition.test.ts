import { Message } from "@effect-rl/core"
import { PlainAddition } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as TestModel from "../TestModel.ts"

describe("PlainAddition", () => {
  it("draws upstream's problems", () => {
    assert.deepStrictEqual(PlainAddition.problems(0, 4), [[44, 47], [64, 67], [67, 9], [83, 21]])
    assert.deepStrictEqual(PlainAddition.problems(1, 4), [[37, 12], [72, 9], [75, 5], [79, 64]])
    assert.deepStrictEqual(PlainAddition.problems(2, 4), [[40, 15], [72, 22], [43, 82], [75, 7]])
  })

  it("stays in range over many draws, both ends included", () => {
    const drawn = PlainAddition.problems(3, 5000).flat()
    assert.strictEqual(Math.min(...drawn), 0)
    assert.strictEqual(Math.max(...drawn), 100)
  })

  it("shows one worked example", () => {
    assert.deepStrictEqual(PlainAddition.example.map(Message.text), ["What is 4 + 5?", "9"])
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
      const env = PlainAddition.env(yield* TestModel.model, 60, 47)
      const step = yield* env.step({ tokens: TestModel.tokenizer.encode(response) })
      assert.closeTo(step.reward, reward, 1e-12)
    }))
})
