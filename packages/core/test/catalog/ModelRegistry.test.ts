import { Hyperparameters } from "@effect-rl/core"
import * as LoraParameters from "@effect-rl/core/catalog/LoraParameters"
import * as PublishedPrices from "@effect-rl/core/catalog/PublishedPrices"
import { ModelRegistry, Renderers } from "@effect-rl/core/renderers"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

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
    assert.deepStrictEqual(found?.renderers, ["qwen3_5", "qwen3_5_disable_thinking", "qwen3_5_preserve_thinking"])
    assert.strictEqual(found?.organization, "Qwen")
    assert.strictEqual(found?.hiddenSize, 2560)
    assert.isUndefined(ModelRegistry.find("Qwen/Qwen9"))
  })

  it("gives a variant the context in its name, and its own price or none", () => {
    const [own, longer, other] = ["", ":peft:262144", ":peft:131072"].map((variant) =>
      ModelRegistry.find(`Qwen/Qwen3.8-27B${variant}`)
    )
    assert.deepStrictEqual(
      [own, longer, other].map((model) => [model?.contextLength, model?.price?.sample]),
      [[65_536, 5.595], [262_144, 7.46], [131_072, undefined]]
    )
    assert.deepStrictEqual(longer?.renderers, own?.renderers)
  })

  it.effect("accepts a registry row instead of a name", () =>
    Effect.gen(function*() {
      const own: ModelRegistry.Model = {
        name: "me/own-7B",
        organization: "me",
        version: "1",
        size: "7B",
        isChat: true,
        hiddenSize: 4096,
        renderers: ["qwen3"],
        tokenizer: "Qwen/Qwen3-8B",
        loraParametersPerRank: { mlp: 100, attn: 20, unembed: 3 },
        loraLearningRate: 2e-4
      }
      assert.strictEqual(yield* Hyperparameters.getLr(own), 2e-4)
      assert.strictEqual(yield* LoraParameters.getLoraParamCount(own, { loraRank: 10 }), 1230)
      assert.include((yield* Effect.flip(Hyperparameters.getLr("me/own-7B"))).message, "not known here")
    }))

  it("knows the attributes of the newest models", () => {
    const glm = ModelRegistry.find("zai-org/GLM-5.3")
    assert.deepStrictEqual([glm?.version, glm?.size, glm?.hiddenSize], ["5.3", "744B-A40B", 6144])
    assert.deepStrictEqual(glm?.loraParametersPerRank, { mlp: 121_356_288, attn: 2_920_320, unembed: 161_024 })
    assert.isTrue(ModelRegistry.find("nvidia/NVIDIA-Nemotron-3.5-Super-VL-120B-A12B-BF16")?.seesImages)
    assert.isTrue(ModelRegistry.find("thinkingmachines/Inkling")?.hearsAudio)
    assert.strictEqual(ModelRegistry.find("Qwen/Qwen3-8B")?.contextLength, 32_768)
  })

  it("has the published prices, each with its source", () => {
    const priced = ModelRegistry.models.flatMap(({ price }) => price ?? [])
    const named = [...PublishedPrices.byModel.keys()]
    assert.lengthOf(priced, named.filter((name) => !name.includes(":")).length)
    assert.deepStrictEqual(named.filter((name) => ModelRegistry.find(name)?.price === undefined), [])
    for (const { cachedPrefill, isDiscounted, prefill, quotedBy, sample } of priced) {
      assert.closeTo(cachedPrefill, prefill / 5, 1e-9)
      assert.isAbove(sample, prefill)
      assert.match(quotedBy, /^github\.com\//)
      assert.notStrictEqual(isDiscounted, false)
    }
    assert.strictEqual(ModelRegistry.find("Qwen/Qwen3-8B")?.price?.train, 0.44)
    assert.isUndefined(ModelRegistry.find("meta-llama/Llama-3.1-8B")?.price)
  })

  it("loads every Llama 3 with the instruct tokenizer that needs no licence", () => {
    for (const name of ["meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.3-70B-Instruct"]) {
      assert.strictEqual(
        ModelRegistry.find(name)?.tokenizer,
        "thinkingmachineslabinc/meta-llama-3-instruct-tokenizer"
      )
    }
  })

  it("has a renderer for every model, or a reason why not", () => {
    const missing = ModelRegistry.models.filter(({ renderers }) => !Renderers.names.includes(renderers[0]))
    assert.deepStrictEqual(missing.map(({ name }) => name), ["moonshotai/Kimi-K3.1-Pro"])
    for (const { name, renderers } of missing) {
      assert.isDefined(renderers.map(Renderers.whyUnavailable).find((reason) => reason !== undefined), name)
    }
  })
})
