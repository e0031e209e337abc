import * as ModelConfigFile from "@effect-rl/engine/checkpoint/ModelConfigFile"
import * as ModelConfig from "@effect-rl/engine/model/ModelConfig"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

/** The fields of Qwen3-0.6B's file. */
const qwen3 = {
  architectures: ["Qwen3ForCausalLM"],
  attention_bias: false,
  head_dim: 128,
  hidden_act: "silu",
  hidden_size: 1024,
  intermediate_size: 3072,
  max_position_embeddings: 40960,
  model_type: "qwen3",
  num_attention_heads: 16,
  num_hidden_layers: 28,
  num_key_value_heads: 8,
  rms_norm_eps: 1e-6,
  rope_scaling: null,
  rope_theta: 1000000,
  tie_word_embeddings: true,
  use_sliding_window: false,
  vocab_size: 151936
}

/** The fields of SmolLM2-135M's file, which gives no head size. */
const llama = {
  model_type: "llama",
  hidden_act: "silu",
  hidden_size: 576,
  intermediate_size: 1536,
  max_position_embeddings: 8192,
  num_attention_heads: 9,
  num_hidden_layers: 30,
  num_key_value_heads: 3,
  rms_norm_eps: 1e-5,
  rope_theta: 100000,
  tie_word_embeddings: true,
  vocab_size: 49152
}

const read = (fields: object) => ModelConfigFile.fromJson("model/config.json", JSON.stringify(fields))

describe("ModelConfigFile", () => {
  it.effect("reads Qwen3", () =>
    Effect.gen(function*() {
      const config = yield* read(qwen3)
      assert.deepStrictEqual(config, {
        family: "qwen3",
        vocabularySize: 151936,
        hiddenSize: 1024,
        feedForwardSize: 3072,
        layers: 28,
        heads: 16,
        keyHeads: 8,
        headSize: 128,
        normEpsilon: 1e-6,
        ropeTheta: 1000000,
        contextLength: 40960,
        tiedEmbeddings: true
      })
      assert.strictEqual(ModelConfig.parameterCount(config), 596_049_920)
    }))

  it.effect("reads Llama with the defaults of its class", () =>
    Effect.gen(function*() {
      const config = yield* read(llama)
      assert.strictEqual(config.headSize, 64)
      assert.strictEqual(ModelConfig.hasHeadNorms(config), false)
      assert.strictEqual(ModelConfig.parameterCount(config), 134_515_008)
      const { tie_word_embeddings: _, ...untied } = llama
      assert.strictEqual((yield* read(untied)).tiedEmbeddings, false)
    }))

  it.effect("reads the rotary parameters of newer files", () =>
    Effect.gen(function*() {
      const { rope_theta: _, ...rest } = llama
      const config = yield* read({ ...rest, rope_parameters: { rope_type: "default", rope_theta: 5000 } })
      assert.strictEqual(config.ropeTheta, 5000)
    }))

  const unsupported: ReadonlyArray<readonly [changes: object, message: string]> = [
    [{ model_type: "gpt2" }, "model_type is \"gpt2\", expected \"qwen3\" or \"llama\""],
    [{ rope_scaling: { rope_type: "llama3", factor: 8 } }, "rope_scaling type is \"llama3\", expected \"default\""],
    [{ rope_scaling: { type: "yarn" } }, "rope_scaling type is \"yarn\", expected \"default\""],
    [{ rope_parameters: { rope_type: "dynamic" } }, "rope_scaling type is \"dynamic\", expected \"default\""],
    [{ hidden_act: "gelu" }, "hidden_act is \"gelu\", expected \"silu\""],
    [{ attention_bias: true }, "attention_bias is true, expected false"],
    [{ mlp_bias: true }, "mlp_bias is true, expected false"],
    [{ use_sliding_window: true }, "use_sliding_window is true, expected false"],
    [{ hidden_size: 580, head_dim: 64 }, "hidden_size is 580, expected a multiple of 8"],
    [{ num_key_value_heads: 2, head_dim: 64 }, "num_attention_heads is 9, expected a multiple of 2"]
  ]
  for (const [changes, message] of unsupported) {
    it.effect(`refuses ${JSON.stringify(changes)}`, () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(read({ ...llama, ...changes }))
        assert.strictEqual(error.reason._tag, "Unsupported")
        assert.strictEqual(error.message, `model/config.json: ${message}`)
      }))
  }

  it.effect("says which field is missing or of the wrong type", () =>
    Effect.gen(function*() {
      const { vocab_size: _, ...missing } = llama
      for (
        const [fields, field] of [[missing, "vocab_size"], [{ ...llama, hidden_size: "576" }, "hidden_size"]] as const
      ) {
        const error = yield* Effect.flip(read(fields))
        assert.strictEqual(error.reason._tag, "Malformed")
        assert.include(error.message, field)
      }
      const notJson = yield* Effect.flip(ModelConfigFile.fromJson("model/config.json", "{"))
      assert.strictEqual(notJson.reason._tag, "Malformed")
    }))
})
