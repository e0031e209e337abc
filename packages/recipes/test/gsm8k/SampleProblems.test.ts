import { Hub } from "@effect-rl/files"
import { Gsm8kSource, Split } from "@effect-rl/recipes"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"

describe("the generated word problems", () => {
  const load = Gsm8kSource.load("sample").pipe(Effect.provide([NodeServices.layer, Layer.mock(Hub.Hub, {})]))

  it.effect("need neither a folder nor the hub, and no problem is in both parts", () =>
    Effect.gen(function*() {
      const { test, train } = yield* load
      assert.deepStrictEqual([train.length, test.length], [96, 32])
      yield* Split.disjoint(train, test)
    }))

  it.effect("have the answers that follow from their numbers", () =>
    Effect.gen(function*() {
      const { test, train } = yield* load
      for (const { answer, question } of [...train, ...test]) {
        const [a = 0, b = 0, c = 0] = (question.match(/\d+/g) ?? []).map(Number)
        const expected = question.includes("boxes") ? a * b + c : question.includes("pays") ? c - a * b : a - b + c
        assert.strictEqual(Number(answer), expected, question)
      }
    }))
})
