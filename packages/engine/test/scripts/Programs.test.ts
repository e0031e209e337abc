import { HuggingFaceTokenizer } from "@effect-rl/files"
import { ListPrograms } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import * as Documents from "../../scripts/corpus/Documents.ts"
import * as Programs from "../../scripts/corpus/Programs.ts"

const preset = (file: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../presets/tiny-code/${file}`, import.meta.url), "utf8"))

const tokenizer = HuggingFaceTokenizer.fromJson("tiny-code", preset("tokenizer.json"), preset("tokenizer_config.json"))

const steps = 100

/** The documents of `count` training steps from step `first` on, with their text. */
const documents = Effect.fnUntraced(function*(first: number, count: number) {
  const read = yield* tokenizer
  const documents = yield* Effect.promise(() => Programs.make(64).documents(read, steps))
  const all = yield* Effect.forEach(
    Array.from({ length: count }, (_, index) => first + index),
    (step) => Effect.promise(() => documents(step))
  )
  return all.flat().map((document) => ({ ...document, text: read.decode(document.tokens) }))
})

const solutions = new Map(ListPrograms.all.map(({ prompt, solution }) => [prompt, solution]))

/** A conversation's questions, each with its answer. */
const turns = (text: string) =>
  Array.from(
    text.matchAll(/<\|im_start\|>user\n([^]*?)<\|im_end\|>\n<\|im_start\|>assistant\n([^]*?)<\|im_end\|>/g),
    ([, question = "", answer = ""]) => ({ question, answer })
  )

/** The share of answers that give the solution in the requested form. */
const rightShare = (all: ReadonlyArray<{ readonly text: string }>) => {
  const answered = all.flatMap(({ text }) => turns(text))
  const right = answered.filter(({ answer, question }) => answer === `\`\`\`python\n${solutions.get(question)}\n\`\`\``)
  return right.length / answered.length
}

describe("pretraining corpus of programs", () => {
  it.effect("asks for training problems and for no held-out problem", () =>
    Effect.gen(function*() {
      const asked = new Set(
        (yield* documents(1, 20)).flatMap(({ text }) => turns(text)).map(({ question }) => question)
      )
      const trained = new Set(ListPrograms.trained.map(({ prompt }) => prompt))
      assert.isAbove(asked.size, 0.9 * trained.size)
      assert.deepStrictEqual([...asked].filter((question) => !trained.has(question)), [])
    }))

  it.effect("begins with mostly right programs, and ends with mostly wrong ones", () =>
    Effect.gen(function*() {
      assert.isAbove(rightShare(yield* documents(1, 10)), 0.75)
      const left = rightShare(yield* documents(90, 10))
      assert.isAbove(left, 0.1)
      assert.isBelow(left, 0.3)
    }))

  it.effect("has conversations that reach the end of the context", () =>
    Effect.gen(function*() {
      const longest = Math.max(...(yield* documents(1, 60)).map(({ tokens }) => tokens.length))
      assert.isAbove(longest, 1000)
      assert.isAtMost(longest, Documents.contextLength + 1)
    }))
})
