import { Contract } from "@effect-rl/core/testing"
import { HuggingFaceTokenizer } from "@effect-rl/files"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as TestTorch from "./TestTorch.ts"

const tokenizer = await Effect.runPromise(
  Effect.provide(HuggingFaceTokenizer.fromFolder(TestTorch.folder), NodeServices.layer)
)

const cases = Contract.contract({ baseModel: TestTorch.model, tokenizer })

describe.skipIf(!TestTorch.hasTorch)(`the backend on torch keeps the contract${TestTorch.where}`, () => {
  layer(TestTorch.layer())((it) => {
    for (const { check, name } of cases) it.effect(name, () => check)
  })
})
