import { Message } from "@effect-rl/core"
import { MathEnv } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createHash } from "node:crypto"
import * as TestModel from "../TestModel.ts"

describe("MathEnv", () => {
  it("renders the cookbook's worked example byte for byte", () => {
    const [question, answer] = MathEnv.strawberry.map(Message.text)
    assert.strictEqual(question, "How many r's are in strawberry? Write your answer in \\boxed{} format.")
    const example = answer ?? ""
    assert.strictEqual(example.length, 152)
    assert.strictEqual(createHash("sha256").update(example).digest("hex").slice(0, 16), "0d17aec5baa1ce15")
  })

  const rewards: ReadonlyArray<readonly [response: string, reward: number]> = [
    ["\\boxed{5}<|im_end|>", 1],
    ["\\boxed{5}", 0.9],
    ["\\boxed{6}<|im_end|>", 0],
    ["5<|im_end|>", -0.1],
    ["5", -0.1]
  ]

  it.effect.each(rewards)("%s earns %s", ([response, reward]) =>
    Effect.gen(function*() {
      const env = MathEnv.make({ model: yield* TestModel.model, problem: "What is 2 + 3?", answer: "5" })
      const step = yield* env.step({ tokens: TestModel.tokenizer.encode(response) })
      assert.strictEqual(step._tag, "Done")
      assert.closeTo(step.reward, reward, 1e-12)
    }))
})
