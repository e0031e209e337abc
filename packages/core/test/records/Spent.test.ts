import { Spent } from "@effect-rl/core/records"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

const amount = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 }))

const Amounts = Schema.Struct({
  prefilled: amount,
  sampled: amount,
  trained: amount,
  cached: amount,
  judgeCalls: amount,
  seconds: amount,
  dollars: Schema.optionalKey(amount)
})

describe("Spent", () => {
  it.prop("is added up in any order, and an empty part changes nothing", [Amounts, Amounts, Amounts], ([a, b, c]) => {
    assert.deepStrictEqual(Spent.add(a, b), Spent.add(b, a))
    assert.deepStrictEqual(Spent.add(Spent.add(a, b), c), Spent.add(a, Spent.add(b, c)))
    assert.deepStrictEqual(Spent.add(a, Spent.zero), a)
  })

  it.prop("has dollars if both parts have them", [Amounts, Amounts], ([a, b]) => {
    const isKnown = a.dollars !== undefined && b.dollars !== undefined
    assert.strictEqual("dollars" in Spent.add(a, b), isKnown)
  })

  it.prop("separates the spending since a resume from the spending before it", [Amounts, Amounts], ([before, more]) => {
    const { dollars: _, ...after } = Spent.add(before, more)
    const { dollars: _since, ...since } = Spent.since(before, Spent.add(before, more))
    const { dollars: _more, ...added } = more
    assert.deepStrictEqual(since, added)
    assert.isAtLeast(after.prefilled, before.prefilled)
  })
})
