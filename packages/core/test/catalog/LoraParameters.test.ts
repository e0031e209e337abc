import * as LoraParameters from "@effect-rl/core/catalog/LoraParameters"
import { ModelRegistry } from "@effect-rl/core/renderers"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

describe("LoraParameters.getLoraParamCount", () => {
  it.effect.each(
    [
      ["Qwen/Qwen3-4B-Instruct-2507", 71_004_160],
      ["Qwen/Qwen3-8B-Base", 92_286_976],
      ["Qwen/Qwen3-32B", 273_461_248],
      ["Qwen/Qwen3-VL-30B-A3B-Instruct", 494_088_192],
      ["Qwen/Qwen3-235B-A22B-Instruct-2507", 1_917_792_256],
      ["Qwen/Qwen3.5-4B", 72_908_800],
      ["Qwen/Qwen3.5-9B", 94_584_832],
      ["Qwen/Qwen3.6-27B", 241_418_240],
      ["Qwen/Qwen3.5-35B-A3B", 561_463_296],
      ["Qwen/Qwen3.5-397B-A17B", 3_171_991_552],
      ["meta-llama/Llama-3.2-1B", 26_714_112],
      ["meta-llama/Llama-3.2-3B", 52_830_208],
      ["meta-llama/Llama-3.1-8B", 88_121_344],
      ["meta-llama/Llama-3.3-70B-Instruct", 418_553_856],
      ["deepseek-ai/DeepSeek-V3.1-Base", 3_100_280_832],
      ["moonshotai/Kimi-K2.6", 4_694_239_232],
      ["openai/gpt-oss-20b", 241_424_384],
      ["openai/gpt-oss-120b", 1_314_387_968],
      ["nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-BF16", 386_072_576],
      ["nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16", 3_621_126_144],
      ["nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16", 8_281_718_784],
      ["thinkingmachines/Inkling", 5_066_795_008]
    ] as const
  )("counts the parameters of %s at rank 32", ([model, expected]) =>
    Effect.gen(function*() {
      assert.strictEqual(yield* LoraParameters.getLoraParamCount(model), expected)
    }))

  it.effect("is the sum over the parts, times the rank", () =>
    Effect.gen(function*() {
      const none = { trainMlp: false, trainAttn: false, trainUnembed: false }
      for (const model of ModelRegistry.models.filter((model) => model.loraParametersPerRank)) {
        const count = (options: LoraParameters.Options) => LoraParameters.getLoraParamCount(model.name, options)
        const mlp = yield* count({ ...none, trainMlp: true, loraRank: 1 })
        const attn = yield* count({ ...none, trainAttn: true, loraRank: 1 })
        const unembed = yield* count({ ...none, trainUnembed: true, loraRank: 1 })
        assert.strictEqual(yield* count({ loraRank: 64 }), 64 * (mlp + attn + unembed))
      }
    }))

  it.effect.each(
    [
      [{ loraRank: 0 }, "loraRank is 0, expected a positive integer"],
      [{ loraRank: 1.5 }, "loraRank is 1.5, expected a positive integer"],
      [{ trainMlp: false, trainAttn: false, trainUnembed: false }, "nothing is trained"]
    ] as const
  )("refuses %j", ([options, expected]) =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(LoraParameters.getLoraParamCount("Qwen/Qwen3-8B", options))
      assert.include(error.message, expected)
    }))

  it.effect("refuses a model without counts", () =>
    Effect.gen(function*() {
      const uncounted = yield* Effect.flip(LoraParameters.getLoraParamCount("effect-rl/tiny-64"))
      assert.include(uncounted.message, "never counted")
      const unknown = yield* Effect.flip(LoraParameters.getLoraParamCount("Qwen/Qwen4-8B"))
      assert.include(unknown.message, "did you mean \"Qwen/Qwen3-8B\"?")
    }))
})
