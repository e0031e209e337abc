import { EnvMetric, Rollout } from "@effect-rl/core"
import type { Sampling } from "@effect-rl/core/backend"
import { EnvLaws } from "@effect-rl/core/testing"
import { Directory, LookupEnv, Recipes } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import * as TestModel from "../TestModel.ts"

const { tokenizer } = TestModel

const call = (query: string) => `<tool_call>\n${JSON.stringify({ name: "search", arguments: { query } })}\n</tool_call>`

const sampled = (text: string): Sampling.SampledTokens => {
  const tokens = tokenizer.encode(`${text}<|im_end|>`)
  return { tokens, logprobs: new Float32Array(tokens.length), stopReason: "stop" }
}

const seed = 5
const directory = Directory.make(seed)
const roomOf = (name: string) => directory.find((entry) => entry.name === name)?.room ?? ""

/** Plays the task to find Ada Bell's room, with a policy that gives these answers in turn and repeats the last one. */
const play = (...texts: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const env = yield* LookupEnv.make({ model: yield* TestModel.model, name: "Ada Bell", seed })
    return yield* Rollout.episode(
      env,
      { act: ({ key }) => Effect.succeed(sampled(texts[Math.min(key.turn, texts.length - 1)] ?? "")) },
      { iteration: 0, group: "lookup", member: 0, attempt: 0 }
    )
  })

describe("a directory search", () => {
  it("finds one person by the full name, in any case and word order", () => {
    const found = [{ name: "Ada Bell", room: roomOf("Ada Bell") }]
    for (const query of ["Ada Bell", " ada  BELL ", "Bell Ada"]) {
      assert.deepStrictEqual(Directory.search(directory, query, 0), found)
    }
  })

  it("finds at most three people by a part of the name", () => {
    const found = Directory.search(directory, "Ada", 0)
    assert.strictEqual(found.length, 3)
    assert.isTrue(found.every(({ name }) => name.startsWith("Ada ")))
    assert.notDeepEqual(Directory.search(directory, "Ada", 1), found)
  })

  it.each(["", "  ", "Zoe", "Ad", "Ada Bell Cook"])("finds no one for %j", (query) => {
    assert.deepStrictEqual(Directory.search(directory, query, 0), [])
  })
})

describe("the lookup environment", () => {
  it.effect("gives reward 1 for the room that was found", () =>
    Effect.gen(function*() {
      const { stepReward, stopReason, transitions } = yield* play(call("Ada Bell"), `Room ${roomOf("Ada Bell")}`)
      assert.strictEqual(stepReward, 1)
      assert.deepStrictEqual(stopReason, Option.some("completed"))
      assert.strictEqual(transitions[0]?.logs["tool_result_0"], `Ada Bell: ${roomOf("Ada Bell")}`)
      assert.deepInclude(transitions.at(-1)?.metrics, { correct: EnvMetric.rate(true), searched: EnvMetric.rate(true) })
    }))

  it.effect.each([roomOf("Ada Cook"), "I am not sure.", ""])("gives reward 0 for %j", (said) =>
    Effect.gen(function*() {
      assert.strictEqual((yield* play(call("Ada Bell"), said)).stepReward, 0)
    }))

  it.effect("ends after three turns", () =>
    Effect.gen(function*() {
      const { stepReward, stopReason, transitions } = yield* play(call("Ada"))
      assert.deepStrictEqual([stepReward, transitions.length], [0, 3])
      assert.deepStrictEqual(stopReason, Option.some("max_turns"))
    }))
})

describe("the laws of the lookup environment", () => {
  const makeEnv = (seed: number) =>
    Effect.flatMap(TestModel.model, (model) => LookupEnv.make({ model, name: "Ada Bell", seed })).pipe(Effect.orDie)
  const options = {
    tokenizer,
    vocabulary: tokenizer.vocabulary,
    seeds: [0],
    replies: ["412", call("Ada Bell"), call("Zoe"), "<tool_call>\nnothing\n</tool_call>"]
  } as const
  for (const law of EnvLaws.envLaws(makeEnv, options)) it.effect(law.name, () => law.check)
})

describe("the recipe lookup", () => {
  const build = Effect.gen(function*() {
    const { build } = yield* Recipes.lookup.configure({ iterations: 40 })
    return yield* build(yield* TestModel.model)
  })

  it.effect("never asks in training about people from the evaluation", () =>
    Effect.gen(function*() {
      const { dataset } = yield* build
      for (let index = 0; index < dataset.length; index++) {
        for (const { key } of yield* dataset.batch(index, 3)) {
          assert.isFalse(Directory.isHeldOut(key.split("/")[1] ?? ""), key)
        }
      }
    }))

  it.effect("gives reference answers: the search, then the final answer", () =>
    Effect.gen(function*() {
      const { answerTo } = yield* build
      const asked = LookupEnv.question("Ada Bell")
      assert.deepStrictEqual(answerTo(asked), Option.some(call("Ada Bell")))
      assert.deepStrictEqual(answerTo(`${asked}<tool_response>\nAda Cook: 123\nAda Bell: 456`), Option.some("456"))
      assert.deepStrictEqual(answerTo("Hello"), Option.none())
    }))
})
