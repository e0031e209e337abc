// Runs the unchanged program of example 01 on a scripted backend, by replacing the Layer.
import { Call, LeakAudit, Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Array, Effect, Layer } from "effect"
import { program } from "../src/01-first-rl.ts"

const tokenizer = TestTokenizer.characters

const sumIn = (prompt: string) => {
  const [, a, b] = /What is (\d+) \+ (\d+)\?/.exec(prompt) ?? []
  return Number(a) + Number(b)
}

/** Answers each prompt with `answer`, given its sum and the sample's index in the group. */
const backend = (answer: (sum: number, member: number) => number) => {
  const sample = Script.reply(
    tokenizer,
    (prompt, { sequence }) => Script.text(tokenizer, `\\boxed{${answer(sumIn(prompt), sequence % 8)}}<|im_end|>`)
  )
  return Layer.merge(
    ScriptedTinker.layer({ models: { "effect-rl/tiny-128": {} }, tokenizer, sample }),
    TestTokenizer.layer(tokenizer)
  )
}

const trained = Effect.map(
  Call.CallLog.use(({ calls }) => calls),
  (calls) => calls.map(Call.describe).filter((call) => !call.startsWith("sample"))
)

describe("01-first-rl on a scripted backend", () => {
  it.effect("trains on every answer of a group whose answers differ", () =>
    Effect.gen(function*() {
      const curve = yield* program
      assert.deepStrictEqual(curve.map(({ reward }) => reward), Array.replicate(0.25, 10))
      assert.deepStrictEqual(yield* trained, [
        "create_training_client(effect-rl/tiny-128, 32)",
        ...Array.replicate(["snapshot", "forward_backward(128, importance_sampling)", "optim_step(0.001)"], 10).flat()
      ])
      assert.deepStrictEqual(LeakAudit.live(yield* LeakAudit.LeakAudit.use(({ counts }) => counts)), {})
    }).pipe(Effect.provide(backend((sum, member) => member < 2 ? sum : sum + 1))))

  it.effect("takes no step if all answers are equally good", () =>
    Effect.gen(function*() {
      yield* program
      assert.deepStrictEqual(yield* trained, [
        "create_training_client(effect-rl/tiny-128, 32)",
        ...Array.replicate("snapshot", 10)
      ])
    }).pipe(Effect.provide(backend((sum) => sum))))
})
