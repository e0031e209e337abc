import { ModelRegistry, Renderers } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"

describe("ModelRegistry", () => {
  it("has one row per name", () => {
    const names = ModelRegistry.models.map((model) => model.name)
    assert.strictEqual(new Set(names).size, names.length)
  })

  it("recommends role_colon for base models and a chat format for chat models", () => {
    for (const { isChat, name, renderers } of ModelRegistry.models) {
      assert.strictEqual(renderers[0] === "role_colon", !isChat, name)
    }
  })

  it("finds a variant by the name before its colon", () => {
    const found = ModelRegistry.find("Qwen/Qwen3.5-4B:peft:131072")
    assert.strictEqual(found?.name, "Qwen/Qwen3.5-4B")
    assert.deepStrictEqual(found?.renderers, ["qwen3_5", "qwen3_5_disable_thinking"])
    assert.strictEqual(found?.organization, "Qwen")
    assert.strictEqual(found?.hiddenSize, 2560)
    assert.isUndefined(ModelRegistry.find("Qwen/Qwen9"))
  })

  it("loads every Llama 3 with the instruct tokenizer that needs no licence", () => {
    for (const name of ["meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.3-70B-Instruct"]) {
      assert.strictEqual(
        ModelRegistry.find(name)?.tokenizer,
        "thinkingmachineslabinc/meta-llama-3-instruct-tokenizer"
      )
    }
  })

  it("has a renderer here for every model, or a reason why not", () => {
    const missing = ModelRegistry.models.filter(({ renderers }) => !Renderers.names.includes(renderers[0]))
    assert.deepStrictEqual(missing.map(({ name }) => name), [
      "thinkingmachines/Inkling",
      "thinkingmachines/Inkling-Small"
    ])
    for (const { name, renderers } of missing) {
      assert.isDefined(renderers.map(Renderers.whyUnavailable).find((reason) => reason !== undefined), name)
    }
  })
})
