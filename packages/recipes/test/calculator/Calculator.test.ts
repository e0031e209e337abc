import { EnvMetric, Rollout } from "@effect-rl/core"
import type { Sampling } from "@effect-rl/core/backend"
import { Renderers } from "@effect-rl/core/renderers"
import { EnvLaws } from "@effect-rl/core/testing"
import { Calculation, CalculatorEnv, Recipes } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import * as TestModel from "../TestModel.ts"

const { tokenizer } = TestModel

const call = (expression: string) =>
  `<tool_call>\n${JSON.stringify({ name: "calculator", arguments: { expression } })}\n</tool_call>`

const sampled = (text: string): Sampling.SampledTokens => {
  const tokens = tokenizer.encode(`${text}<|im_end|>`)
  return { tokens, logprobs: new Float32Array(tokens.length), stopReason: "stop" }
}

const play = (...texts: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const env = yield* CalculatorEnv.make({
      model: yield* TestModel.model,
      expression: "(12 + 30) * 10",
      answer: "420"
    })
    return yield* Rollout.episode(
      env,
      { act: ({ key }) => Effect.succeed(sampled(texts[Math.min(key.turn, texts.length - 1)] ?? "")) },
      { iteration: 0, group: "calculation", member: 0, attempt: 0 }
    )
  })

describe("the calculator environment", () => {
  it.effect("gives reward 1 for the right number after a calculator call", () =>
    Effect.gen(function*() {
      const { stepReward, stopReason, transitions } = yield* play(call("(12+30)*10"), "It is 420.")
      assert.strictEqual(stepReward, 1)
      assert.deepStrictEqual(stopReason, Option.some("completed"))
      assert.deepInclude(transitions.at(-1)?.metrics, {
        correct: EnvMetric.rate(true),
        used_calculator: EnvMetric.rate(true)
      })
    }))

  it.effect.each(["420", "1 + 1 is 2, and so 420", "840/2", "420.0"])(
    "accepts %j as the right number",
    (said) =>
      Effect.gen(function*() {
        assert.strictEqual((yield* play(said)).stepReward, 1)
      })
  )

  it.effect.each(["421", "no idea", "420, or 421", ""])(
    "rejects %j as the right number",
    (said) =>
      Effect.gen(function*() {
        assert.strictEqual((yield* play(said)).stepReward, 0)
      })
  )

  it.effect("continues after a call with an invalid expression", () =>
    Effect.gen(function*() {
      const { stepReward, transitions } = yield* play(call("12 + "), call("(12 + 30) * 10"), "420")
      assert.strictEqual(stepReward, 1)
      assert.include(String(transitions[0]?.logs["tool_result_0"]), "it ends where a number is expected")
    }))

  it.effect("ends after four turns, even if each calls the calculator", () =>
    Effect.gen(function*() {
      const { stepReward, stopReason } = yield* play(call("1 + 1"))
      assert.strictEqual(stepReward, 0)
      assert.deepStrictEqual(stopReason, Option.some("max_turns"))
    }))
})

describe("the laws of the calculator environment", () => {
  const makeEnv = (seed: number) =>
    Effect.gen(function*() {
      const [calculation] = Calculation.batch(0, 1, "long", seed)
      if (calculation === undefined) return yield* Effect.die("no calculation")
      const renderer = yield* Renderers.byName("qwen3_instruct", tokenizer)
      return yield* CalculatorEnv.make({ model: { renderer }, ...calculation })
    }).pipe(Effect.orDie)
  const options = {
    tokenizer,
    vocabulary: tokenizer.vocabulary,
    seeds: [0],
    replies: ["42", call("1 + 1"), call("1 +"), "<tool_call>\nnothing\n</tool_call>"]
  } as const
  for (const law of EnvLaws.envLaws(makeEnv, options)) it.effect(law.name, () => law.check)
})

describe("the recipe calculator", () => {
  const { calculator } = Recipes
  const build = Effect.gen(function*() {
    const { build } = yield* calculator.configure({ groupsPerBatch: 16, iterations: 40 })
    return yield* build(yield* TestModel.model)
  })

  it.effect("never trains on evaluation problems", () =>
    Effect.gen(function*() {
      const { dataset } = yield* build
      const heldOut = new Set(Calculation.heldOut(256, "short").map(({ expression }) => expression))
      assert.strictEqual(heldOut.size, 256)
      for (let index = 0; index < dataset.length; index++) {
        for (const { key } of yield* dataset.batch(index, 3)) assert.isFalse(heldOut.has(key), key)
      }
    }))

  it.effect("gives the same batch for the same index and seed, and a different batch otherwise", () =>
    Effect.gen(function*() {
      const { dataset } = yield* build
      const keys = (index: number, seed: number) =>
        Effect.map(dataset.batch(index, seed), (groups) => groups.map(({ key }) => key))
      const first = yield* keys(1, 2)
      assert.strictEqual(new Set(first).size, 16)
      assert.deepStrictEqual(yield* keys(1, 2), first)
      assert.notDeepEqual(yield* keys(2, 2), first)
      assert.notDeepEqual(yield* keys(1, 3), first)
    }))

  it.effect("gives reference answers: the tool call, then the final answer", () =>
    Effect.gen(function*() {
      const { answerTo } = yield* build
      const question = CalculatorEnv.question("(1 + 2) * 3 - 4")
      assert.deepStrictEqual(answerTo(question), Option.some(call("(1 + 2) * 3 - 4")))
      assert.deepStrictEqual(
        answerTo(`${question}<tool_response>\n1\n</tool_response><tool_response>\n5\n</tool_response>`),
        Option.some("5")
      )
      assert.deepStrictEqual(answerTo("Hello"), Option.none())
    }))
})
