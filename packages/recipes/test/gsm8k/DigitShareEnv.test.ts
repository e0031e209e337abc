import { DigitShareEnv } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as TestModel from "../TestModel.ts"

describe("DigitShareEnv", () => {
  const table: ReadonlyArray<readonly [response: string, reward: number]> = [
    ["\\boxed{1234}", 1],
    ["\\boxed{4321}", 1],
    ["\\boxed{12}", 0.5],
    ["\\boxed{1299}", 0.5],
    ["\\boxed{12345678}", 0.5],
    ["\\boxed{1111}", 0.25],
    ["\\boxed{}", 0],
    ["1234", 0]
  ]

  it.effect.each(table)("1,234 answered by %s earns %s", ([response, reward]) =>
    Effect.gen(function*() {
      const env = DigitShareEnv.make({ model: yield* TestModel.model, problem: "How many?", answer: "1,234" })
      const step = yield* env.step({ tokens: TestModel.tokenizer.encode(`${response}<|im_end|>`) })
      assert.strictEqual(step.reward, reward)
    }))

  it.prop(
    "gives a share from 0 to 1, and 1 for the reference itself",
    [Schema.String, Schema.Int],
    ([answer, wanted]) => {
      const share = DigitShareEnv.digitShare(answer, String(wanted))
      assert.isTrue(share >= 0 && share <= 1)
      assert.strictEqual(DigitShareEnv.digitShare(String(wanted), String(wanted)), 1)
    }
  )
})
