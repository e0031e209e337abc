import { GroupId } from "@effect-rl/core/records"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

const part = Schema.Literals(["", "a", "/", "@", "a/", "/a", "a@1/b", "%2F", "%"])
const ids = Schema.Struct({ evaluator: Schema.optionalKey(part), iteration: Schema.Literals([1, 11]), key: part })

describe("GroupId", () => {
  it.prop("is the same text for equal groups alone", [ids, ids], ([left, right]) => {
    const isSame = left.evaluator === right.evaluator && left.iteration === right.iteration && left.key === right.key
    assert.strictEqual(GroupId.toString(left) === GroupId.toString(right), isSame)
  })

  it("names training groups by batch and key, and those of evaluations by their evaluator too", () => {
    assert.strictEqual(GroupId.toString({ iteration: 7, key: "gsm8k/12" }), "7/gsm8k/12")
    assert.strictEqual(GroupId.toString({ iteration: 7, key: "12", evaluator: "a/b" }), "7@a%2Fb/12")
  })

  it("is described with iterations counted from 1, or with those before an evaluation", () => {
    assert.strictEqual(GroupId.describe({ iteration: 7, key: "gsm8k/12" }), "gsm8k/12 of iteration 8")
    assert.strictEqual(
      GroupId.describe({ iteration: 1, key: "12", evaluator: "held_out" }),
      "12 of held_out after 1 iteration"
    )
  })
})
