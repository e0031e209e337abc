import { Split } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"

const problems = (...questions: ReadonlyArray<string>) =>
  questions.map((question, index) => ({ question, answer: String(index) }))

const questionsOf = (part: ReadonlyArray<{ readonly question: string }>) => part.map(({ question }) => question)

describe("Split.disjoint", () => {
  it.effect("keeps problems that differ", () =>
    Effect.gen(function*() {
      const { test, train } = yield* Split.disjoint(problems("a", "b"), problems("c"))
      assert.deepStrictEqual([questionsOf(train), questionsOf(test)], [["a", "b"], ["c"]])
    }))

  it.effect("names the rows of a problem that is in both parts, ignoring white space and case", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Split.disjoint(problems("a", "How many?"), problems("c", "d", "how  many? ")))
      assert.strictEqual(error._tag, "Overlap")
      assert.deepStrictEqual([error.trainRow, error.testRow], [2, 3])
      assert.include(error.message, "row 3 of the test problems is row 2 of the training problems")
    }))
})

describe("Split.holdOut", () => {
  const many = problems(...Array.from({ length: 300 }, (_, index) => `Question ${index}?`))

  it.effect("holds out the requested number of questions, the same ones in any order", () =>
    Effect.gen(function*() {
      const split = yield* Split.holdOut(many, 200)
      const reversed = yield* Split.holdOut(many.toReversed(), 200)
      assert.strictEqual(split.test.length, 200)
      assert.strictEqual(split.train.length, 100)
      assert.deepStrictEqual(questionsOf(split.test).toSorted(), questionsOf(reversed.test).toSorted())
      yield* Split.disjoint(split.train, split.test)
    }))

  it.effect("refuses to hold out everything", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Split.holdOut(many.slice(0, 200), 200))
      assert.strictEqual(error._tag, "TooFewProblems")
      assert.include(error.message, "200")
    }))

  it.effect.prop(
    "never puts a question in both parts",
    [Schema.Array(Schema.String)],
    ([questions]) =>
      Effect.gen(function*() {
        const repeated = problems(...questions, "left for training", ...questions)
        const split = yield* Effect.option(Split.holdOut(repeated, 2))
        if (split._tag === "Some") yield* Split.disjoint(split.value.train, split.value.test)
      })
  )
})
