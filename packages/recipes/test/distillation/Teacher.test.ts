import { ScriptedTinker } from "@effect-rl/core/testing"
import { Recipes } from "@effect-rl/recipes"
import * as Teacher from "@effect-rl/recipes/distillation/Teacher"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as TestModel from "../TestModel.ts"

const { tokenizer } = TestModel

const backend = ScriptedTinker.layer({
  tokenizer,
  models: {
    "effect-rl/scripted": {},
    "effect-rl/other-weights": {},
    "effect-rl/other-tokens": { tokenizerFingerprint: "other" }
  }
})

layer(backend)("the recipe on-policy-distill", (it) => {
  it.effect("names no credit, because it is not trained on rewards", () =>
    Effect.gen(function*() {
      const { build } = yield* Recipes.onPolicyDistill.configure({})
      assert.isUndefined((yield* build(yield* TestModel.model)).credit)
    }))
})

layer(backend)("Teacher.credit", (it) => {
  it.effect("lets a teacher with the student's tokenizer read the student's tokens", () =>
    Effect.gen(function*() {
      const { config } = yield* Teacher.credit("teacher", "effect-rl/other-weights", yield* TestModel.model)
      assert.deepInclude(config, { teacher: "effect-rl/other-weights" })
      assert.notProperty(config, "models")
    }))

  it.effect("refuses a teacher whose tokenizer cannot be loaded", () =>
    Effect.gen(function*() {
      const { message } = yield* Effect.flip(
        Teacher.credit("mathTeacher", "effect-rl/other-tokens", yield* TestModel.model)
      )
      assert.include(message, "mathTeacher is effect-rl/other-tokens")
    }))
})
