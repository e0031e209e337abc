import { Advantage, Credit } from "@effect-rl/core"
import { Audit, CreditText } from "@effect-rl/core/records"
import { assert, describe, it } from "@effect/vitest"

const textOf = (credit: Credit.Credit<unknown, unknown>) => CreditText.parts(Credit.identityOf(credit))

describe("CreditText", () => {
  it("names a credit with its estimator, and lists its options", () => {
    assert.deepStrictEqual(textOf(Credit.groupRelative(Advantage.centered)), ["group_relative/centered"])
    const passAt4 = Credit.groupRelative(Advantage.passAtK(4))
    assert.deepStrictEqual(textOf(passAt4), ["group_relative/pass_at_k", "k 4"])
  })

  it("names the credit that another credit wraps, and lists the options of both", () => {
    const shaped = Credit.lengthPenalty({ turns: 0.5 })(Credit.groupRelative(Advantage.turnReturns({ gamma: 0.9 })))
    assert.deepStrictEqual(textOf(Audit.quarantine(shaped)), [
      "quarantined(length_penalty(group_relative/turn_returns))",
      "turns 0.5",
      "gamma 0.9"
    ])
  })

  it("is empty for a run without credit", () => {
    assert.strictEqual(CreditText.name(undefined), "")
  })
})
