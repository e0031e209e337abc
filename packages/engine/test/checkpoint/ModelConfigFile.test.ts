import * as ModelConfigFile from "@effect-rl/engine/checkpoint/ModelConfigFile"
import * as ModelConfig from "@effect-rl/engine/model/ModelConfig"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

/** The fields of Qwen3-0.6B's `config.json`. */
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

/** The fields of SmolLM2-135M's `config.json`, which has no head size. */
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
        biases: [],
        normEpsilon: 1e-6,
        ropeTheta: 1000000,
        contextLength: 40960,
        tiedEmbeddings: true
      })
      assert.strictEqual(ModelConfig.parameterCount(config), 596_049_920)
    }))

  it.effect("reads Llama with the defaults of its model class", () =>
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

  it.effect("reads the rotary base from inside rope_scaling, as transformers does", () =>
    Effect.gen(function*() {
      const inside = yield* read({ ...llama, rope_scaling: { rope_type: "default", rope_theta: 7000 } })
      assert.strictEqual(inside.ropeTheta, 7000)
      const { rope_theta: _, ...without } = llama
      assert.strictEqual((yield* read(without)).ropeTheta, 10_000)
    }))

  it.effect("reads Qwen3 without head size or key heads, using its class's defaults", () =>
    Effect.gen(function*() {
      const { head_dim: _, num_key_value_heads: __, ...without } = qwen3
      const config = yield* read({ ...without, num_attention_heads: 32 })
      assert.strictEqual(config.headSize, 128)
      assert.strictEqual(config.keyHeads, 32)
    }))

  it.effect("reads the biases of Qwen2, and of Llama with attention_bias", () =>
    Effect.gen(function*() {
      const config = yield* read({ ...llama, model_type: "qwen2" })
      assert.deepStrictEqual(config.biases, ["query", "key", "value"])
      assert.strictEqual(ModelConfig.hasHeadNorms(config), false)
      assert.strictEqual(ModelConfig.parameterCount(config), 134_515_008 + 30 * (576 + 2 * 192))
      const biased = yield* read({ ...llama, attention_bias: true })
      assert.deepStrictEqual(biased.biases, ["query", "key", "value", "output"])
    }))

  it.effect("reads Mistral without a sliding window", () =>
    Effect.gen(function*() {
      const config = yield* read({ ...llama, model_type: "mistral", sliding_window: null })
      assert.strictEqual(config.family, "mistral")
    }))

  it.effect("divides all rotary frequencies by a linear factor", () =>
    Effect.gen(function*() {
      const { ropeDivisors } = yield* read({ ...llama, rope_scaling: { type: "linear", factor: 4 } })
      assert.deepStrictEqual(ropeDivisors, Array.from({ length: 32 }, () => 4))
    }))

  it.effect("divides the rotary frequencies of Llama 3.2 as transformers does", () =>
    Effect.gen(function*() {
      const { ropeDivisors = [] } = yield* read({
        ...llama,
        rope_theta: 500_000,
        rope_scaling: {
          rope_type: "llama3",
          factor: 32,
          low_freq_factor: 1,
          high_freq_factor: 4,
          original_max_position_embeddings: 8192
        }
      })
      // For head size 64; computed with transformers 5.23.
      const expected = [
        1,
        1,
        1,
        1,
        1,
        1,
        1,
        1,
        1,
        1,
        1,
        1,
        1,
        1,
        1,
        1.651329,
        3.292263,
        9.666731,
        32,
        32,
        32,
        32,
        32,
        32,
        32,
        32,
        32,
        32,
        32,
        32,
        32,
        32
      ]
      assert.strictEqual(ropeDivisors.length, expected.length)
      expected.forEach((divisor, i) => assert.closeTo(ropeDivisors[i] ?? NaN, divisor, 1e-5 * divisor))
    }))

  const families = "\"llama\", \"mistral\", \"qwen2\", \"qwen3\""
  const others = [
    ["gpt2", "learned positions, LayerNorm and GELU"],
    ["opt", "learned positions, LayerNorm and ReLU"],
    ["gpt_neox", "LayerNorm, parallel residuals and partly rotated heads"],
    ["gemma3_text", "GELU, scaled embeddings and norms that add 1 to their weights"],
    ["qwen3_moe", "a mixture of experts"]
  ] as const
  for (const [model_type, part] of others) {
    it.effect(`refuses ${model_type} and names the feature that the engine lacks`, () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(read({ model_type, n_embd: 768 }))
        assert.strictEqual(
          error.message,
          `model/config.json: model_type is "${model_type}", which has ${part}, expected ${families}`
        )
      }))
  }

  it.effect("refuses an unknown model type", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(read({ model_type: "zebra" }))
      assert.include(error.message, "model_type is \"zebra\", an architecture that the engine does not know, expected")
    }))

  const ropeTypes = "\"default\", \"linear\", \"llama3\""
  const unsupported: ReadonlyArray<readonly [changes: object, message: string]> = [
    [{ rope_scaling: { type: "yarn", factor: 4 } }, `rope_scaling type is "yarn", expected ${ropeTypes}`],
    [{ rope_parameters: { rope_type: "dynamic" } }, `rope_scaling type is "dynamic", expected ${ropeTypes}`],
    [{ rope_scaling: { type: "linear" } }, "rope_scaling factor is null, expected a number above 0"],
    [
      { rope_scaling: { rope_type: "llama3", factor: 8, low_freq_factor: 1 } },
      "rope_scaling high_freq_factor is null, expected a number above 0"
    ],
    [{ rope_theta: 0 }, "rope_theta is 0, expected a number above 0"],
    [{ rms_norm_eps: -1 }, "rms_norm_eps is -1, expected a number above 0"],
    [{ num_hidden_layers: 2 ** 31 }, "num_hidden_layers is 2147483648, expected at most 4096"],
    [
      { head_dim: 2 ** 40, rope_scaling: { type: "linear", factor: 2 } },
      "head_dim is 1099511627776, expected at most 65536"
    ],
    [{ partial_rotary_factor: 0.5 }, "partial_rotary_factor is 0.5, expected 1"],
    [{ quantization_config: { bits: 4 } }, "quantization_config is {\"bits\":4}, expected null"],
    [
      { model_type: "qwen3", layer_types: ["full_attention", "sliding_attention"] },
      [
        "layer_types is \"sliding_attention\"",
        "expected \"full_attention\""
      ].join(", ")
    ],
    [
      { model_type: "mistral", sliding_window: 4096 },
      "sliding_window is 4096, expected null or at least max_position_embeddings, 8192"
    ],
    [{ hidden_act: "gelu" }, "hidden_act is \"gelu\", expected \"silu\""],
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

  it.effect("names the field that is missing or has the wrong type", () =>
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
