import { Contract, Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Mutants from "./Mutants.ts"

const contract = (eosTokenId: number | undefined) =>
  Contract.contract({ baseModel: Script.defaultModel, tokenizer: { ...TestTokenizer.characters, eosTokenId } })

describe("the scripted backend, whose model has no end of sequence, keeps the contract", () => {
  const cases = contract(undefined)
  for (const { check, name } of cases) it.effect(name, () => Effect.provide(check, ScriptedTinker.layer()))

  it("in cases that all have different names", () => {
    assert.strictEqual(new Set(cases.map(({ name }) => name)).size, cases.length)
  })

  it.effect("also without capabilities beyond training and sampling", () =>
    Effect.gen(function*() {
      const bare = { seeds: "none", promptLogprobs: false, topkPromptLogprobs: 0, lossReduction: "unknown" } as const
      const layer = ScriptedTinker.layer({ models: { [Script.defaultModel]: bare } })
      const found = yield* Effect.forEach(cases, ({ check }) =>
        Effect.flip(check).pipe(Effect.provide(layer), Effect.option))
      assert.deepStrictEqual(
        found.flatMap((violation) =>
          violation._tag === "Some" ? [violation.value.message] : []
        ),
        []
      )
    }))
})

describe("the contract catches a backend that", () => {
  const cases = contract(TestTokenizer.characters.eosTokenId)
  for (const { breaks, layer, rule } of Mutants.all) {
    it.effect(rule, () =>
      Effect.gen(function*() {
        const found = cases.find(({ name }) => name === breaks)
        assert.isDefined(found, breaks)
        const violation = yield* Effect.flip(found?.check ?? Effect.void).pipe(Effect.provide(layer))
        assert.strictEqual(violation._tag, "ContractViolation")
        assert.strictEqual(violation.case, breaks)
      }))
  }
})
