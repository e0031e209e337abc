import { BoxedAnswer } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

const isCorrect = (answer: string, reference: string) =>
  BoxedAnswer.grade(`So it is \\boxed{${answer}}.`, reference)._tag === "Correct"

type Pair = readonly [answer: string, reference: string]

const correct: ReadonlyArray<Pair> = [
  ["42", "42"],
  ["5.0", "5"],
  ["-0", "0"],
  ["+7", "7"],
  ["1,234", "1234"],
  ["10,\\!000", "10000"],
  ["\\$1,234.50", "1234.5"],
  ["$42$", "42"],
  ["42\\%", "42"],
  ["0.10", "0.1"],
  ["0.5", "\\frac{1}{2}"],
  ["1/2", "\\frac{1}{2}"],
  ["0.5", "1/2"],
  [".5", "\\frac12"],
  ["\\dfrac{3}{4}", "0.75"],
  ["-\\frac12", "\\frac{-1}{2}"],
  ["\\frac{1}{-2}", "-\\frac12"],
  ["\\frac{1.5}{3}", "0.5"],
  ["123456789012345678901234567890", "123456789012345678901234567890.0"],
  ["yes", "yes"]
]

const wrong: ReadonlyArray<Pair> = [
  ["43", "42"],
  ["5.1", "5"],
  ["1,23,4", "1234"],
  ["0.333", "\\frac13"],
  ["0.3333333333333333", "1/3"],
  ["1 1/2", "11/2"],
  ["", "0"],
  ["0.1+0.2", "0.3"],
  ["2(3)", "6"],
  ["1/0", "1/0.0"],
  ["0x10", "16"],
  ["5 dollars", "5"],
  ["Infinity", "1/0"],
  ["NaN", "0"]
]

/** Where upstream rounds, strips units or refuses to reduce. */
const differsFromUpstream: ReadonlyArray<readonly [...Pair, ours: boolean]> = [
  ["\\frac{2}{4}", "\\frac{1}{2}", true],
  ["6/2", "3", true],
  ["5.00000001", "5", false],
  ["999999999999999999", "1000000000000000000", false],
  ["42 cm", "42", false],
  ["1 000", "1000", false]
]

describe("BoxedAnswer.grade", () => {
  it.each(correct)("%s is %s", (answer, reference) => {
    assert.isTrue(isCorrect(answer, reference))
    assert.isTrue(isCorrect(reference, answer))
  })

  it.each(wrong)("%s is not %s", (answer, reference) => {
    assert.isFalse(isCorrect(answer, reference))
  })

  it.each(differsFromUpstream)("unlike upstream: %s against %s is %s", (answer, reference, ours) => {
    assert.strictEqual(isCorrect(answer, reference), ours)
  })

  it("says what was wrong, and when there was no answer", () => {
    assert.deepStrictEqual(BoxedAnswer.grade("\\boxed{4}", "5"), { _tag: "Wrong", answer: "4" })
    assert.deepStrictEqual(BoxedAnswer.grade("5", "5"), { _tag: "NoAnswer" })
  })

  it("does not try to read a number of a million digits", () => {
    assert.isFalse(isCorrect("9".repeat(1_000_000), "9"))
  })

  it.prop(
    "a fraction equals itself whatever it is multiplied by",
    [Schema.Int, Schema.Int, Schema.Int],
    ([a, b, by]) => {
      if (b === 0 || by === 0) return
      const times = (value: number) => BigInt(value) * BigInt(by)
      assert.isTrue(isCorrect(`\\frac{${times(a)}}{${times(b)}}`, `${a}/${b}`))
    }
  )

  it.prop("no response breaks it", [Schema.String, Schema.String], ([response, reference]) => {
    assert.include(["Correct", "Wrong", "NoAnswer"], BoxedAnswer.grade(response, reference)._tag)
    assert.include(["Correct", "Wrong", "NoAnswer"], BoxedAnswer.grade(`\\boxed{${response}}`, reference)._tag)
  })
})
