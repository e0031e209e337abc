import { Contract } from "@effect-rl/core/testing"
import { describe, layer } from "@effect/vitest"
import * as TestEngine from "./runtime/TestEngine.ts"

const cases = Contract.contract({ baseModel: TestEngine.model })

describe("the engine keeps the contract", () => {
  layer(TestEngine.layer(2))((it) => {
    for (const { check, name } of cases) it.effect(name, () => check)
  })
})
