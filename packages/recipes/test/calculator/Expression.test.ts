import { Expression, Rational } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"

const evaluate = (expression: string) =>
  Result.match(Expression.evaluate(expression), {
    onFailure: ({ detail }) => `error: ${detail}`,
    onSuccess: Rational.toString
  })

describe("an expression", () => {
  const values: ReadonlyArray<readonly [expression: string, value: string]> = [
    ["1 + 2 * 3", "7"],
    ["(1 + 2) * 3", "9"],
    ["10 - 4 - 3", "3"],
    ["12 / 4 / 3", "1"],
    ["2 / 3 + 1 / 3", "1"],
    ["1 / 3", "1/3"],
    ["0.1 + 0.2", "3/10"],
    [".5 * 4", "2"],
    ["-3 - -4", "1"],
    ["--2", "2"],
    ["-(2 + 3) * +4", "-20"],
    ["6 × 7 ÷ 2 − 1", "20"],
    ["  ( ( 5 ) ) ", "5"],
    ["99999999999999999999 * 99999999999999999999", "9999999999999999999800000000000000000001"]
  ]
  it.for(values)("%s is %s", ([expression, value]) => assert.strictEqual(evaluate(expression), value))

  const errors: ReadonlyArray<readonly [expression: string, error: string]> = [
    ["", "it ends where a number is expected"],
    ["1 +", "it ends where a number is expected"],
    ["1 2", "there is \"2\" where an operator is expected"],
    ["(1 + 2", "it ends where \")\" is expected"],
    ["1 + )", "there is \")\" where a number is expected"],
    ["1 / 0", "it divides by zero"],
    ["1 / (2 - 2)", "it divides by zero"],
    ["2 ** 3", "there is \"*\" where a number is expected"],
    ["2 ^ 3", "there is \"^\" where an operator is expected"],
    ["1.2.3", "there is \".3\" where an operator is expected"],
    ["process.exit()", "there is \"p\" where a number is expected"],
    ["1".repeat(201), "it is longer than 200 characters"]
  ]
  it.for(errors)(
    "%s cannot be evaluated: %s",
    ([expression, error]) => assert.strictEqual(evaluate(expression), `error: ${error}`)
  )

  it("of any allowed length is evaluated quickly", () => {
    assert.strictEqual(evaluate("(".repeat(99) + "1" + ")".repeat(99)), "1")
    assert.strictEqual(evaluate("-".repeat(198) + "1"), "1")
  })

  it.prop(
    "of integers has the value that JavaScript computes",
    [
      Schema.Int.check(Schema.isBetween({ minimum: -999, maximum: 999 })),
      Schema.Int.check(Schema.isBetween({ minimum: -999, maximum: 999 })),
      Schema.Int.check(Schema.isBetween({ minimum: -999, maximum: 999 }))
    ],
    ([a, b, c]) => {
      assert.strictEqual(evaluate(`(${a} + ${b}) * ${c} - ${a}`), String((a + b) * c - a === 0 ? 0 : (a + b) * c - a))
    }
  )
})
