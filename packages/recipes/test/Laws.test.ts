import { EnvLaws } from "@effect-rl/core/testing"
import { DigitShareEnv, MathEnv, Sums } from "@effect-rl/recipes"
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as TestModel from "./TestModel.ts"

const { model, tokenizer } = TestModel

const keepsTheLaws = <E>(makeEnv: EnvLaws.MakeEnv<E, never>) => {
  const replies = ["1", "\\boxed{1}", "\\boxed{2} or \\boxed{", "I do not know."] as const
  for (const { check, name } of EnvLaws.envLaws(makeEnv, { tokenizer, vocabulary: tokenizer.vocabulary, replies })) {
    it.effect(name, () => check)
  }
}

describe("the laws of a plain sum environment", () => {
  keepsTheLaws((seed) => Effect.map(model, (model) => Sums.plain.env(model, seed, 1)))
})

describe("the laws of a boxed sum environment", () => {
  keepsTheLaws((seed) => Effect.map(model, (model) => Sums.boxed.env(model, seed, 1)))
})

describe("the laws of a math environment", () => {
  keepsTheLaws((seed) =>
    Effect.map(model, (model) => MathEnv.make({ model, problem: `What is 1^${seed}?`, answer: "1" }))
  )
})

describe("the laws of an environment that rewards the share of digits", () => {
  keepsTheLaws((seed) =>
    Effect.map(model, (model) => DigitShareEnv.make({ model, problem: `What is 1^${seed}?`, answer: "1" }))
  )
})
