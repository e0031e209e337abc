import { MathAnswer } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as MathPairs from "../fixtures/MathPairs.ts"
import * as HostileAnswers from "./HostileAnswers.ts"

type Pair = readonly [answer: string, reference: string]

const right: ReadonlyArray<Pair> = [
  ["42", "42"],
  ["5.00000001", "5"],
  ["-0", "0"],
  ["1,234", "1234"],
  ["\\$1,234.50", "1234.5"],
  ["42\\text{ cm}", "42"],
  ["90^\\circ", "90"],
  ["\\textbf{yes}", "yes"],
  [".5", "\\frac{1}{2}"],
  ["2/4", "0.5"],
  ["\\frac{1}{-2}", "-\\frac12"],
  ["\\sqrt{8}", "2\\sqrt{2}"],
  ["\\frac{1}{\\sqrt3}", "\\frac{\\sqrt3}{3}"],
  ["(x+1)(x+2)", "x^2+3x+2"],
  ["5", "x=5"],
  ["xy=5", "5"],
  ["\\frac{\\pi}{2}", "\\pi/2"],
  ["x^-1", "\\frac1x"],
  ["2.5\\times 10^{-3}", "0.0025"],
  ["10,\\!000", "10000"],
  ["[0,1]", "[0, 1.0]"],
  ["(3,\\frac{\\pi}{2})", "(3,\\pi/2)"],
  ["3 \\text{ or } 4", "3,4"],
  ["7 3/4", "7.75"],
  ["2\\frac13", "7/3"],
  ["x/2", "\\frac{x}{2}"],
  ["A", "a"],
  ["2+3i", "3i+2"],
  ["{5}", "5"]
]

const wrong: ReadonlyArray<Pair> = [
  ["43", "42"],
  ["0.333", "\\frac13"],
  ["0.3333333333333333", "\\frac13"],
  ["1,23,4", "1234"],
  ["\\frac{3}{1}", "3"],
  ["5 dollars", "5"],
  ["3:4", "3/4"],
  ["0.1+0.2", "0.3"],
  ["\\sqrt4", "2"],
  ["1.4142135623730951", "\\sqrt2"],
  ["x^2+1", "x^2-1"],
  ["x+y+z", "z+y+x"],
  ["f(x)=2x", "2x"],
  ["2^{10}", "1024"],
  ["5!", "120"],
  ["(1,2)", "(2,1)"],
  ["(1,2)", "[1,2]"],
  ["1,2", "2,1"],
  ["5<x", "x>5"],
  ["", "0"],
  ["\\sqrt{x^2}", "x"],
  ["½", "1/2"],
  ["0x10", "16"]
]

/** Pairs for which the cookbook's verdict is not mathematically right. */
const asUpstreamErrs: ReadonlyArray<readonly [...Pair, correct: boolean]> = [
  ["x+1/2", "\\frac{x+1}{2}", true],
  ["\\frac{1+\\sqrt5}{2}", "\\frac{\\sqrt5+1}{2}", false],
  ["\\frac{2}{4}", "\\frac{1}{2}", false],
  ["3 \\text{ or } 4", "3", true],
  ["-2\\frac13", "-7/3", false],
  ["11_2", "112", true],
  ["5 \\text{ cm}", "5 \\text{ kg}", true],
  ["999999999999999999", "1000000000000000000", true],
  ["(1/2,2/4)", "(1/2,1/2)", false]
]

describe("MathAnswer.isCorrect", () => {
  it.each(right)("%s is %s", (answer, reference) => {
    assert.isTrue(MathAnswer.isCorrect(answer, reference))
  })

  it.each(wrong)("%s is not %s", (answer, reference) => {
    assert.isFalse(MathAnswer.isCorrect(answer, reference))
  })

  it.each(asUpstreamErrs)("%s against %s is %s, as in the cookbook", (answer, reference, correct) => {
    assert.strictEqual(MathAnswer.isCorrect(answer, reference), correct)
  })

  it("agrees with the cookbook on every recorded pair except those in the table", () => {
    assert.isAtLeast(MathPairs.pairs.length, 3000)
    const differing = MathPairs.pairs.flatMap(({ candidate, cookbook, reference }) => {
      const ours = MathAnswer.isCorrect(candidate, reference)
      return ours === cookbook ? [] : [{ candidate, reference, ours }]
    })
    const listed = MathPairs.disagreements.flatMap(({ candidate, grading, ours, reference }) =>
      grading === "strict" ? [{ candidate, reference, ours }] : []
    )
    assert.deepStrictEqual(differing, listed)
  })

  it("compares answers longer than a thousand characters as text", () => {
    const long = `${"1+".repeat(600)}1`
    assert.isTrue(MathAnswer.isCorrect(long, ` ${long} `))
    assert.isFalse(MathAnswer.isCorrect(long, "601"))
  })

  it("gives a verdict on hostile answers", () => {
    for (const [answer, reference] of HostileAnswers.pairs(300, 2)) {
      assert.isBoolean(MathAnswer.isCorrect(answer, reference))
      assert.isBoolean(MathAnswer.isCorrect(answer, reference, { lenient: true }))
    }
  })

  it.prop("accepts an answer as its own reference, with any white space around it", [Schema.String], ([text]) => {
    assert.isTrue(MathAnswer.isCorrect(` ${text}`, text))
  })
})

const equalInValue: ReadonlyArray<Pair> = [
  ["\\frac{2}{4}", "\\frac{1}{2}"],
  ["6/2", "3"],
  ["2^{10}", "1024"],
  ["5!", "120"],
  ["\\binom{5}{2}", "10"],
  ["\\log_2 8", "3"],
  ["\\sqrt[3]{8}", "2"],
  ["0.1+0.2", "0.3"],
  ["\\frac{1+\\sqrt5}{2}", "\\frac{\\sqrt5+1}{2}"],
  ["\\frac{x+1}{2}", "\\frac{x}{2}+\\frac12"],
  ["\\sin^2 x+\\cos^2 x", "1"],
  ["\\tan x", "\\frac{\\sin x}{\\cos x}"],
  ["x+y+z", "z+y+x"],
  ["i^2", "-1"],
  ["5\\%", "0.05"],
  ["-2\\frac13", "-7/3"],
  ["\\{1,2\\}", "\\{2,1\\}"],
  ["1, 2", "2, 1"],
  ["1 \\pm \\sqrt{2}", "1-\\sqrt2, 1+\\sqrt2"],
  ["[0,1]\\cup(2,3)", "(2,3) \\cup [0,1]"],
  ["x>5", "5<x"],
  ["f(x)=2x", "2x"],
  ["y=2x+1", "1+2x=y"],
  ["\\frac12 \\text{ hours}", "0.5"]
]

const differentInValue: ReadonlyArray<Pair> = [
  ["0.333", "\\frac13"],
  ["3.14159", "\\pi"],
  ["1.4142135623730951", "\\sqrt2"],
  ["\\frac{\\pi}{2}", "90"],
  ["\\sqrt{x^2}", "x"],
  ["x^2+1", "x^2-1"],
  ["(1,2)", "(2,1)"],
  ["(1,2)", "[1,2]"],
  ["(1,2)", "\\{1,2\\}"],
  ["x>5", "x<5"],
  ["x>5", "x\\ge 5"],
  ["\\{1,1,2\\}", "\\{1,2,2\\}"],
  ["5 \\mathrm{cm}", "5 \\mathrm{kg}"],
  ["", "0"],
  ["1/0", "2/0"]
]

describe("lenient grading", () => {
  const isCorrect = (answer: string, reference: string) => MathAnswer.isCorrect(answer, reference, { lenient: true })

  it.each(equalInValue)("%s is %s", (answer, reference) => {
    assert.isTrue(isCorrect(answer, reference))
    assert.isTrue(isCorrect(reference, answer))
  })

  it.each(differentInValue)("%s is not %s", (answer, reference) => {
    assert.isFalse(isCorrect(answer, reference))
    assert.isFalse(isCorrect(reference, answer))
  })

  it("accepts every pair that strict grading accepts, and beyond those only pairs of the table", () => {
    const alone = MathPairs.pairs.flatMap(({ candidate, cookbook, mathVerify, reference }) => {
      const accepted = isCorrect(candidate, reference)
      if (MathAnswer.isCorrect(candidate, reference)) assert.isTrue(accepted)
      return accepted && cookbook !== true && mathVerify !== true ? [{ candidate, reference }] : []
    })
    const listed = MathPairs.disagreements.flatMap(({ candidate, grading, reference }) =>
      grading === "lenient" ? [{ candidate, reference }] : []
    )
    assert.deepStrictEqual(alone, listed)
  })

  it.prop(
    "accepts a fraction with both terms multiplied by the same number",
    [Schema.Int, Schema.Int, Schema.Int],
    ([a, b, by]) => {
      if (b === 0 || by === 0) return
      const times = (value: number) => BigInt(value) * BigInt(by)
      assert.isTrue(isCorrect(`\\frac{${times(a)}}{${times(b)}}`, `${a}/${b}`))
    }
  )
})
