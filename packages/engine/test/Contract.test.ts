import { Tokenizer } from "@effect-rl/core/renderers"
import { Contract } from "@effect-rl/core/testing"
import { describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as TestEngine from "./runtime/TestEngine.ts"

const tokenizer = await Effect.runPromise(
  Tokenizer.Tokenizers.use((tokenizers) => tokenizers.load(TestEngine.model)).pipe(Effect.provide(TestEngine.layer(1)))
)

const cases = Contract.contract({ baseModel: TestEngine.model, tokenizer })

describe("the engine keeps the contract", () => {
  layer(TestEngine.layer(2))((it) => {
    for (const { check, name } of cases) it.effect(name, () => check)
  })
})
