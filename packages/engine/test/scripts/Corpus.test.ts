import type { Message } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { Renderers } from "@effect-rl/core/renderers"
import { HuggingFaceTokenizer } from "@effect-rl/files"
import { heldOutPairs, isHeldOut } from "@effect-rl/recipes/arithmetic/Sums"
import { columns } from "@effect-rl/recipes/arithmetic/WorkedSums"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import * as Addition from "../../scripts/corpus/Addition.ts"
import * as Documents from "../../scripts/corpus/Documents.ts"
import * as Random from "../../scripts/corpus/Random.ts"

const preset = (file: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../presets/tiny-128/${file}`, import.meta.url), "utf8"))

const tokenizer = HuggingFaceTokenizer.fromJson("tiny-128", preset("tokenizer.json"), preset("tokenizer_config.json"))

/** The pretraining documents as text. */
const documents = Effect.gen(function*() {
  const { decode, encode } = yield* tokenizer
  const random = Random.make(2)
  return [Addition.reliable, Addition.mixed].flatMap((skill) =>
    Array.from({ length: 40 }, () => Documents.batch({ encode, random, skill }, 8)).flat()
  ).map((document) => ({ ...document, text: decode(document.tokens) }))
})

const questionsOf = (text: string): ReadonlyArray<readonly [number, number]> =>
  Array.from(text.matchAll(/What is (\d+) \+ (\d+)\?/g), ([, a, b]) => [Number(a), Number(b)])

describe("pretraining corpus", () => {
  it.effect("never asks for a held-out pair, in either order", () =>
    Effect.gen(function*() {
      const asked = (yield* documents).flatMap(({ text }) => questionsOf(text))
      assert.isAbove(asked.length, 1000)
      assert.deepStrictEqual(asked.filter(([a, b]) => isHeldOut(a, b)), [])
      assert.isTrue(asked.some(([a, b]) => a === 100 || b === 100))
    }))

  it.effect("matches the renderer's format for conversations", () =>
    Effect.gen(function*() {
      const read = yield* tokenizer
      const renderer = yield* Renderers.byName("qwen3_instruct", read)
      const conversation: ReadonlyArray<Message.Message> = [
        { role: "user", content: Addition.plainQuestion(4, 5) },
        { role: "assistant", content: "9" },
        { role: "user", content: Addition.boxedQuestion(12, 30) }
      ]
      const rendered = yield* renderer.generationPrompt(conversation)
      const example = `${Documents.prompt(Addition.plainQuestion(4, 5))}9<|im_end|>\n`
      const written = read.encode(example + Documents.prompt(Addition.boxedQuestion(12, 30)))
      assert.deepStrictEqual([...(yield* ModelInput.toTokens(rendered))], [...written])
    }))

  it.effect("has answers to learn from up to the end of the context", () =>
    Effect.gen(function*() {
      const all = yield* documents
      const longest = Math.max(...all.map(({ tokens }) => tokens.length))
      assert.isAbove(longest, 1100)
      assert.isAtMost(longest, Documents.contextLength + 1)
      assert.isTrue(all.some(({ weights }) => weights.subarray(1000).some((weight) => weight === 1)))
    }))

  it.effect("encodes a worked answer in at most 26 tokens", () =>
    Effect.gen(function*() {
      const { encode } = yield* tokenizer
      assert.isAtMost(encode(`${columns(99, 99)} so \\boxed{198}<|im_end|>`).length, 26)
    }))

  it("adds numbers column by column", () => {
    assert.strictEqual(columns(47, 28), "7+8=15,4+2+1=7")
    assert.strictEqual(columns(5, 31), "5+1=6,0+3=3")
    assert.strictEqual(columns(99, 1), "9+1=10,9+0+1=10")
  })
})

describe("held-out pairs", () => {
  it("are 256 different pairs of numbers below 100", () => {
    assert.strictEqual(heldOutPairs.length, 256)
    assert.strictEqual(new Set(heldOutPairs.map((pair) => pair.join())).size, 256)
    for (const [a, b] of heldOutPairs) {
      assert.isAtLeast(a, 0)
      assert.isAtMost(a, b)
      assert.isBelow(b, 100)
    }
  })

  it("do not depend on the machine or on operand order, and exclude the few-shot example", () => {
    assert.deepStrictEqual(heldOutPairs.slice(0, 3), [[25, 59], [80, 96], [12, 72]])
    assert.isTrue(heldOutPairs.every(([a, b]) => isHeldOut(a, b) && isHeldOut(b, a)))
    assert.isFalse(isHeldOut(4, 5))
  })
})
