import { Format, Recipes } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import * as TestModel from "../TestModel.ts"

const { formats, isRight, question } = Format
const words = ["sun", "sea", "tree"]
const taskOf = (name: string) => formats.flatMap((format) => format.name === name ? [{ ...format, words }] : [])

describe("a list in a requested format", () => {
  const rightTexts: ReadonlyArray<readonly [format: string, text: string]> = [
    ["a JSON array", "[\"sun\",\"sea\",\"tree\"]"],
    ["a JSON array", " [ \"sun\", \"sea\", \"tree\" ]\n"],
    ["a bullet list", "- sun\n- sea\n- tree"],
    ["semicolon-separated values", "sun; sea; tree"],
    ["semicolon-separated values", "sun;sea;tree"]
  ]
  it.each(rightTexts)("is right as %s: %j", (name, text) => {
    assert.deepStrictEqual(taskOf(name).map((task) => isRight(task)(text)), [true])
  })

  const wrongTexts: ReadonlyArray<readonly [format: string, text: string]> = [
    ["a JSON array", "- sun\n- sea\n- tree"],
    ["a JSON array", "[\"sun\",\"tree\",\"sea\"]"],
    ["a JSON array", "Here: [\"sun\",\"sea\",\"tree\"]"],
    ["a bullet list", "sun; sea; tree"],
    ["a bullet list", "- sun\n- sea"],
    ["a bullet list", "The list:\n- sun\n- sea\n- tree"],
    ["semicolon-separated values", "sun, sea, tree"],
    ["semicolon-separated values", ""]
  ]
  it.each(wrongTexts)("is wrong as %s: %j", (name, text) => {
    assert.deepStrictEqual(taskOf(name).map((task) => isRight(task)(text)), [false])
  })
})

describe("the recipe format", () => {
  const build = Effect.gen(function*() {
    const { build } = yield* Recipes.format.configure({ iterations: 150 })
    return yield* build(yield* TestModel.model)
  })

  it.effect("never trains on evaluation lists, which are the same in every format", () =>
    Effect.gen(function*() {
      const { dataset } = yield* build
      const trained = new Set<string>()
      for (let index = 0; index < dataset.length; index++) {
        for (const { key } of yield* dataset.batch(index, 3)) trained.add(key)
      }
      assert.isAbove(trained.size, 1_500)
      const seen = (triple: ReadonlyArray<string>) =>
        formats.map(({ name }) => trained.has(question({ name, words: triple })))
      const asked = Format.triples.map(seen)
      assert.deepStrictEqual(
        new Set(asked.map((formats) => formats.join())),
        new Set(["true,true,true", "false,false,false"])
      )
    }))

  it.effect("gives a right reference answer in each format", () =>
    Effect.gen(function*() {
      const { answerTo } = yield* build
      for (const format of formats) {
        const task = { ...format, words }
        assert.isTrue(isRight(task)(Option.getOrElse(answerTo(question(task)), () => "nothing")), format.name)
      }
      assert.deepStrictEqual(answerTo("Write me a letter."), Option.none())
    }))
})
