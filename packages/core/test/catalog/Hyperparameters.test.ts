import { Hyperparameters } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

describe("Hyperparameters.getLr", () => {
  it.effect.each(
    [
      ["meta-llama/Llama-3.2-1B", 4.908239e-4],
      ["meta-llama/Llama-3.2-3B", 3.576008e-4],
      ["meta-llama/Llama-3.1-8B", 2.856415e-4],
      ["meta-llama/Llama-3.1-8B-Instruct", 2.856415e-4],
      ["meta-llama/Llama-3.3-70B-Instruct", 1.662329e-4],
      ["Qwen/Qwen3-30B-A3B-Base", 4.990818e-4],
      ["Qwen/Qwen3.5-4B", 4.905251e-4],
      ["Qwen/Qwen3-8B", 4.729791e-4],
      ["Qwen/Qwen3.8-27B", 4.648699e-4]
    ] as const
  )("returns the rate of %s, and a tenth of it without LoRA", ([model, expected]) =>
    Effect.gen(function*() {
      assert.closeTo(yield* Hyperparameters.getLr(model), expected, 5e-11)
      assert.closeTo(yield* Hyperparameters.getLr(model, { isLora: false }), expected / 10, 5e-12)
    }))

  it.effect("returns the tested rates of the embedded presets", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* Hyperparameters.getLr("effect-rl/tiny-64"), 1e-3)
      assert.strictEqual(yield* Hyperparameters.getLr("effect-rl/tiny-128"), 1e-3)
    }))

  it.effect("ignores the variant after a colon in the name", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* Hyperparameters.getLr("Qwen/Qwen3.5-4B:peft:262144"),
        yield* Hyperparameters.getLr("Qwen/Qwen3.5-4B")
      )
    }))

  it.effect("refuses a model that was never calibrated, and lists the calibrated ones", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Hyperparameters.getLr("openai/gpt-oss-20b"))
      assert.strictEqual(error._tag, "ModelRegistryError")
      assert.include(error.message, "model \"openai/gpt-oss-20b\": no calibrated learning rate")
      assert.include(error.message, "Qwen/Qwen3.5-4B")
      assert.notInclude(error.detail, "openai/gpt-oss")
    }))

  it.effect("refuses an unknown model and suggests the nearest calibrated one", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Hyperparameters.getLr("Qwen/Qwen3-8"))
      assert.include(error.message, "did you mean \"Qwen/Qwen3-8B\"?")
    }))
})
