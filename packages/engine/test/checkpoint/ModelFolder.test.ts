import * as ModelFolder from "@effect-rl/engine/checkpoint/ModelFolder"
import type { ModelConfig } from "@effect-rl/engine/model/ModelConfig"
import * as Pass from "@effect-rl/engine/model/Pass"
import * as Weights from "@effect-rl/engine/model/Weights"
import * as Memory from "@effect-rl/engine/numerics/Memory"
import * as Safetensors from "@effect-rl/engine/numerics/Safetensors"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem, Path } from "effect"
import * as Reference from "../model/Reference.ts"
import * as TinyModel from "../TinyModel.ts"

const huggingFaceConfig = (config: ModelConfig) => ({
  model_type: config.family,
  vocab_size: config.vocabularySize,
  hidden_size: config.hiddenSize,
  intermediate_size: config.feedForwardSize,
  num_hidden_layers: config.layers,
  num_attention_heads: config.heads,
  num_key_value_heads: config.keyHeads,
  head_dim: config.headSize,
  max_position_embeddings: config.contextLength,
  rms_norm_eps: config.normEpsilon,
  rope_theta: config.ropeTheta,
  tie_word_embeddings: config.tiedEmbeddings,
  ...(config.ropeDivisors === undefined ? {} : { rope_scaling: { type: "linear", factor: config.ropeDivisors[0] } })
})

/** Rounds to values that all three types represent exactly, so one reference serves them. */
const coarse = (value: number): number => Math.round(value * 64) / 64

const encoders = {
  F32: (values: Float32Array) => new Uint8Array(values.slice().buffer),
  BF16: (values: Float32Array) =>
    new Uint8Array(Uint16Array.from(new Uint32Array(values.slice().buffer), (bits) => bits >>> 16).buffer),
  F16: (values: Float32Array) =>
    new Uint8Array(
      Uint16Array.from(new Uint32Array(values.slice().buffer), (bits) => {
        const exponent = (bits >>> 23) & 0xff
        return exponent === 0 ? 0 : (bits >>> 31) << 15 | (exponent - 112) << 10 | (bits >>> 13) & 0x3ff
      }).buffer
    )
}

const tensorsOf = (model: TinyModel.TinyModel) =>
  model.base.tensors.map(({ offset, size, slot }) => ({
    name: slot.name,
    shape: slot.shape,
    values: Memory.floats(model.memory, model.block + offset * 4, size).map(coarse)
  }))

const encoded = (model: TinyModel.TinyModel, dtype: Safetensors.DType): ReadonlyArray<Safetensors.Tensor> =>
  tensorsOf(model).map(({ name, shape, values }) => ({ name, dtype, shape, data: encoders[dtype](values) }))

const writeFolder = Effect.fnUntraced(function*(config: ModelConfig, files: Readonly<Record<string, Uint8Array>>) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const folder = yield* fs.makeTempDirectoryScoped()
  yield* fs.writeFileString(path.join(folder, "config.json"), JSON.stringify(huggingFaceConfig(config)))
  for (const [name, bytes] of Object.entries(files)) yield* fs.writeFile(path.join(folder, name), bytes)
  return folder
})

const example = (tokens: Int32Array): Pass.Example => ({
  tokens: tokens.subarray(0, -1),
  targets: tokens.subarray(1),
  candidates: 1
})

/**
 * Loads a folder into a model with other random weights and compares its results with the float64 model. `stored` is the type in which a
 * large model keeps its matrices.
 */
const checkLoaded = Effect.fnUntraced(function*(
  folder: string,
  source: TinyModel.TinyModel,
  stored?: Safetensors.DType
) {
  const opened = yield* ModelFolder.open(folder)
  assert.deepStrictEqual(opened.config, source.config)
  const loaded = TinyModel.make(opened.config, { seed: 99, ...(stored === undefined ? {} : { stored }) })
  yield* ModelFolder.load(opened, loaded)
  const [tokens = new Int32Array()] = TinyModel.tokens(source.config, [24], 51)
  const { targets, tokens: inputs } = example(tokens)
  const tensors = new Map(tensorsOf(source).map(({ name, values }) => [name, values]))
  const [actual = new Float32Array()] = Pass.forward(loaded, [example(tokens)], undefined)
  Reference.logprobs(source.config, tensors, inputs, targets).forEach((logprob, t) => {
    assert.closeTo(actual[t] ?? NaN, logprob, 1e-4)
  })
})

const withoutTensor = (tensors: ReadonlyArray<Safetensors.Tensor>, name: string) =>
  tensors.filter((tensor) => tensor.name !== name)

const norm = "model.layers.1.self_attn.q_norm.weight"

describe("ModelFolder", () => {
  layer(NodeServices.layer)((it) => {
    const families = [["qwen3", TinyModel.qwen3], ["qwen2", TinyModel.qwen2], ["llama", TinyModel.llama]] as const
    for (const [name, config] of families) {
      for (const dtype of ["F32", "BF16", "F16"] as const) {
        it.effect(`loads ${name} in ${dtype}`, () =>
          Effect.gen(function*() {
            const source = TinyModel.make(config)
            const bytes = Safetensors.encode(encoded(source, dtype))
            yield* checkLoaded(yield* writeFolder(config, { "model.safetensors": bytes }), source)
          }))

        it.effect(`loads ${name} with its weights stored in ${dtype}, as for a large model`, () =>
          Effect.gen(function*() {
            const source = TinyModel.make(config)
            const bytes = Safetensors.encode(encoded(source, dtype))
            yield* checkLoaded(yield* writeFolder(config, { "model.safetensors": bytes }), source, dtype)
          }))
      }
    }

    it.effect("stores a model that is too large for panels in the types of its file", () =>
      Effect.sync(() => {
        const large: ModelConfig = { ...TinyModel.llama, vocabularySize: 128_256, hiddenSize: 512 }
        for (const type of ["F32", "F16", "BF16"] as const) {
          assert.strictEqual(Weights.storageFor(large, () => type)("lm_head.weight"), type)
          assert.strictEqual(Weights.storageFor(TinyModel.llama, () => type)("lm_head.weight"), "panels")
        }
      }))

    it.effect("loads a tied head that is also stored in the file, and refuses one that differs", () =>
      Effect.gen(function*() {
        const source = TinyModel.make(TinyModel.qwen3)
        const tensors = encoded(source, "BF16")
        const embedding = tensors.find(({ name }) => name === "model.embed_tokens.weight")
        assert.isDefined(embedding)
        const data = embedding?.data ?? new Uint8Array()
        const withHead = (data: Uint8Array) =>
          writeFolder(TinyModel.qwen3, {
            "model.safetensors": Safetensors.encode([
              ...tensors,
              { name: "lm_head.weight", dtype: "BF16", shape: [61, 32], data }
            ])
          })
        yield* checkLoaded(yield* withHead(data), source)
        const other = yield* Effect.flatMap(
          withHead(data.map((byte, i) => i === 99 ? byte ^ 1 : byte)),
          ModelFolder.open
        )
        const error = yield* Effect.flip(ModelFolder.load(other, source))
        assert.include(error.message, "config.json ties the embeddings, but lm_head.weight differs")
        assert.include(error.message, "set tie_word_embeddings to false to use both")
      }))

    it.effect("loads a file with an unused tensor of another type", () =>
      Effect.gen(function*() {
        const source = TinyModel.make(TinyModel.llama)
        const bytes = Safetensors.encode(encoded(source, "F32"))
        const spare = "model.layers.0.self_attn.bias"
        const text = new TextDecoder().decode(
          bytes.subarray(8, 8 + Number(new DataView(bytes.buffer).getBigUint64(0, true)))
        )
        const end = bytes.length - 8 - text.length
        const json = `${text.trimEnd().slice(0, -1)},"${spare}":{"dtype":"BOOL","shape":[8],"data_offsets":[${end},${
          end + 8
        }]}}`
        const header = new TextEncoder().encode(json)
        const file = new Uint8Array(16 + header.length + end)
        new DataView(file.buffer).setBigUint64(0, BigInt(header.length), true)
        file.set(header, 8)
        file.set(bytes.subarray(8 + text.length), 8 + header.length)
        yield* checkLoaded(yield* writeFolder(TinyModel.llama, { "model.safetensors": file }), source)
      }))

    it.effect("loads weights from several files", () =>
      Effect.gen(function*() {
        const source = TinyModel.make(TinyModel.llama)
        const tensors = encoded(source, "F32")
        const [first, second] = [tensors.slice(0, 7), tensors.slice(7)]
        const weight_map = Object.fromEntries([
          ...first.map(({ name }) => [name, "a.safetensors"]),
          ...second.map(({ name }) => [name, "b.safetensors"])
        ])
        const folder = yield* writeFolder(TinyModel.llama, {
          "a.safetensors": Safetensors.encode(first),
          "b.safetensors": Safetensors.encode(second),
          "model.safetensors.index.json": new TextEncoder().encode(JSON.stringify({ weight_map }))
        })
        yield* checkLoaded(folder, source)
      }))

    it.effect("is not affected by old data in its scratch space", () =>
      Effect.gen(function*() {
        const source = TinyModel.make(TinyModel.qwen3)
        const bytes = Safetensors.encode(encoded(source, "BF16"))
        const opened = yield* Effect.flatMap(
          writeFolder(TinyModel.qwen3, { "model.safetensors": bytes }),
          ModelFolder.open
        )
        const mark = source.arena.mark()
        Memory.floats(source.memory, source.arena.allocate(100_000), 100_000).fill(NaN)
        source.arena.reset(mark)
        yield* ModelFolder.load(opened, source)
        const adapter = TinyModel.adapter(source, { rank: 8 })
        Pass.forwardBackward(
          source,
          TinyModel.tokens(source.config, [9], 52).map(example),
          { adapter: { packed: adapter.packed, block: adapter.gradients } },
          (logprobs) => ({ loss: 0, gradient: logprobs.map(() => 1) })
        )
        const gradients = Memory.floats(source.memory, adapter.gradients, adapter.layout.parameterFloats)
        assert.isTrue(gradients.every(Number.isFinite))
      }))

    it.effect("names a missing file or tensor", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const source = TinyModel.make(TinyModel.qwen3)
        const empty = yield* fs.makeTempDirectoryScoped()
        const noConfig = yield* Effect.flip(ModelFolder.open(empty))
        assert.include(noConfig.message, "config.json")
        const noWeights = yield* Effect.flip(Effect.flatMap(writeFolder(TinyModel.qwen3, {}), ModelFolder.open))
        assert.include(noWeights.message, "has neither model.safetensors nor model.safetensors.index.json")
        const partial = Safetensors.encode(withoutTensor(encoded(source, "BF16"), norm))
        const missing = yield* Effect.flip(
          Effect.flatMap(
            writeFolder(TinyModel.qwen3, { "model.safetensors": partial }),
            ModelFolder.open
          )
        )
        assert.include(missing.message, `tensor ${norm}: is missing`)
      }))

    it.effect("refuses a tensor of another shape", () =>
      Effect.gen(function*() {
        const source = TinyModel.make(TinyModel.qwen3)
        const wrong: Safetensors.Tensor = { name: norm, dtype: "F32", shape: [8], data: new Uint8Array(32) }
        const bytes = Safetensors.encode([...withoutTensor(encoded(source, "F32"), norm), wrong])
        const error = yield* Effect.flip(
          Effect.flatMap(
            writeFolder(TinyModel.qwen3, { "model.safetensors": bytes }),
            ModelFolder.open
          )
        )
        assert.include(error.message, `tensor ${norm}: has shape [8], expected [16]`)
      }))
  })
})
