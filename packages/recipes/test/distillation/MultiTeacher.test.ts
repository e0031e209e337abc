import { Hub } from "@effect-rl/files"
import { Recipes, Sums } from "@effect-rl/recipes"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import * as TestModel from "../TestModel.ts"

const noHub = Layer.mock(Hub.Hub, {})

layer(Layer.merge(NodeServices.layer, noHub))("the recipe multi-teacher", (it) => {
  const built = Effect.gen(function*() {
    const { build } = yield* Recipes.multiTeacher.configure({ prompts: "made-up", groupsPerBatch: 8, iterations: 4 })
    return yield* build(yield* TestModel.model)
  })

  it.effect("has equally many prompts for each teacher in each iteration, with different keys", () =>
    Effect.gen(function*() {
      const { dataset } = yield* built
      for (let index = 0; index < 4; index++) {
        const groups = yield* dataset.batch(index, 1)
        const tags = groups.map(({ tags }) => tags.join())
        assert.deepStrictEqual(tags, [
          ...Array.from({ length: 8 }, () => "math"),
          ...Array.from({ length: 8 }, () => "chat")
        ])
        assert.strictEqual(new Set(groups.map(({ key }) => key)).size, 16)
      }
    }))

  it.effect("names no credit, because it is not trained on rewards", () =>
    Effect.gen(function*() {
      assert.isUndefined((yield* built).credit)
    }))

  it.effect("evaluates held-out sums and lists, and has reference answers to both", () =>
    Effect.gen(function*() {
      const { answerTo, evaluators } = yield* built
      const groups = evaluators.flatMap(({ groups = [] }) => groups)
      const count = (tag: string) => groups.filter(({ tags }) => tags.includes(tag)).length
      assert.deepStrictEqual([count("math"), count("chat")], [2 * Sums.heldOutPairs.length, 300])
      assert.deepStrictEqual(answerTo("What is 47 + 28?"), Option.some("75"))
      assert.deepStrictEqual(
        answerTo("Write sun, sea, tree as semicolon-separated values."),
        Option.some("sun; sea; tree")
      )
    }))
})
