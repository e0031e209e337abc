import { BoxedAnswer } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

describe("BoxedAnswer.grade", () => {
  it("tells whether the boxed answer is right, or that there is no box", () => {
    assert.deepStrictEqual(BoxedAnswer.grade("\\boxed{5.0}", "5"), { _tag: "Correct", answer: "5.0" })
    assert.deepStrictEqual(BoxedAnswer.grade("\\boxed{4}", "5"), { _tag: "Wrong", answer: "4" })
    assert.deepStrictEqual(BoxedAnswer.grade("5", "5"), { _tag: "NoAnswer" })
  })

  it("accepts an equal fraction only if grading is lenient", () => {
    assert.strictEqual(BoxedAnswer.grade("\\boxed{2/4}", "1/2")._tag, "Wrong")
    assert.strictEqual(BoxedAnswer.grade("\\boxed{2/4}", "1/2", { lenient: true })._tag, "Correct")
  })

  it.prop("gives a verdict on any response", [Schema.String, Schema.String], ([response, reference]) => {
    assert.include(["Correct", "Wrong", "NoAnswer"], BoxedAnswer.grade(response, reference)._tag)
    assert.include(["Correct", "Wrong", "NoAnswer"], BoxedAnswer.grade(`\\boxed{${response}}`, reference)._tag)
  })
})
