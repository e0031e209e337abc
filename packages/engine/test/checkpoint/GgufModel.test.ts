import * as GgufModel from "@effect-rl/engine/checkpoint/GgufModel"
import type { ModelConfig } from "@effect-rl/engine/model/ModelConfig"
import * as Pass from "@effect-rl/engine/model/Pass"
import * as GgufHeader from "@effect-rl/engine/numerics/GgufHeader"
import * as Memory from "@effect-rl/engine/numerics/Memory"
import * as TensorType from "@effect-rl/engine/numerics/TensorType"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, FileSystem, Path } from "effect"
import * as Reference from "../model/Reference.ts"
import * as RandomBlocks from "../numerics/RandomBlocks.ts"
import * as TinyModel from "../TinyModel.ts"
import * as GgufFile from "./GgufFile.ts"

/** A config whose rows are long enough for blocks of 256. */
const wide = (config: ModelConfig): ModelConfig => ({
  ...config,
  hiddenSize: 256,
  feedForwardSize: 256,
  heads: 4,
  keyHeads: 2,
  headSize: 64,
  ...(config.ropeDivisors === undefined ? {} : { ropeDivisors: Array.from({ length: 32 }, (_, i) => 1 + i / 8) })
})

const f32 = (values: Float32Array) => new Uint8Array(values.slice().buffer)

/** A model's tensors, with matrices of random blocks of a type, and the dequantized values of all tensors. */
const randomTensors = (config: ModelConfig, type: TensorType.TensorType) => {
  const source = TinyModel.make(config)
  const { arena, kernels, memory } = source
  const values = new Map<string, Float32Array>()
  const tensors = source.base.tensors.map(({ offset, size, slot: { name, shape } }, index): GgufFile.Tensor => {
    if (shape.length === 1) {
      const vector = Memory.floats(memory, source.block + offset * 4, size).slice()
      values.set(name, vector)
      return { name, shape, typeId: TensorType.idOf("F32"), bytes: f32(vector) }
    }
    const bytes = RandomBlocks.make(type, size, index)
    const mark = arena.mark()
    const [raw, wide] = [arena.allocate(Math.ceil(bytes.length / 4)), arena.allocate(size)]
    Memory.bytes(memory, raw, bytes.length).set(bytes)
    kernels.dequantize(wide, raw, TensorType.idOf(type), size)
    values.set(name, Memory.floats(memory, wide, size).slice())
    arena.reset(mark)
    return { name, shape, typeId: TensorType.idOf(type), bytes }
  })
  return { tensors, values }
}

const write = Effect.fnUntraced(function*(bytes: Uint8Array) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const file = path.join(yield* fs.makeTempDirectoryScoped(), "model.gguf")
  yield* fs.writeFile(file, bytes)
  return file
})

const refusal = (bytes: Uint8Array) =>
  Effect.flatMap(write(bytes), (file) => Effect.map(Effect.flip(GgufModel.open(file)), ({ message }) => message))

const bare = () => {
  const { tensors } = randomTensors(TinyModel.llama, "F32")
  return tensors
}

describe("GgufModel", () => {
  layer(NodeServices.layer)((it) => {
    for (const type of TensorType.names) {
      for (
        const [name, config] of Object.entries({
          llama: TinyModel.llama,
          qwen2: TinyModel.qwen2,
          qwen3: TinyModel.qwen3
        })
      ) {
        it.effect(`computes ${name} in ${type} as the float64 model does, packed and stored`, () =>
          Effect.gen(function*() {
            const model = wide(config)
            const { tensors, values } = randomTensors(model, type)
            const opened = yield* GgufModel.open(yield* write(GgufFile.ofModel(model, tensors)))
            assert.deepStrictEqual(opened.config, model)
            const [tokens = new Int32Array()] = TinyModel.tokens(model, [7], 51)
            const example = { tokens: tokens.subarray(0, -1), targets: tokens.subarray(1), candidates: 1 }
            const expected = Reference.logprobs(model, values, example.tokens, example.targets)
            const logprobs = yield* Effect.forEach([{}, { stored: type }], (options) =>
              Effect.gen(function*() {
                const loaded = TinyModel.make(opened.config, { seed: 99, ...options })
                yield* GgufModel.load(opened, loaded)
                return Pass.forward(loaded, [example], undefined)[0] ?? new Float32Array()
              }))
            assert.deepStrictEqual(logprobs[0], logprobs[1])
            expected.forEach((logprob, t) => assert.closeTo(logprobs[0]?.[t] ?? NaN, logprob, 1e-3))
          }))
      }
    }

    it.effect("reads linear rotary scaling and an untied head", () =>
      Effect.gen(function*() {
        const scaling = { "llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 4 }
        const bytes = GgufFile.ofModel(TinyModel.llama, bare(), scaling)
        const { config } = yield* GgufModel.open(yield* write(bytes))
        assert.deepStrictEqual(config.ropeDivisors, [4, 4, 4, 4])
        assert.isFalse(config.tiedEmbeddings)
      }))

    const changes: ReadonlyArray<readonly [metadata: GgufFile.Metadata, message: string]> = [
      [
        { "general.architecture": "gemma3" },
        "general.architecture is \"gemma3\", which has GELU, scaled embeddings and norms that add 1 to their weights, " +
        "expected \"llama\", \"qwen2\" or \"qwen3\""
      ],
      [{ "general.architecture": "qwen3moe" }, "\"qwen3moe\", which has a mixture of experts"],
      [{ "general.architecture": 3 }, "general.architecture is missing, expected a name"],
      [{ "llama.expert_count": 8 }, "llama.expert_count is 8, expected none"],
      [{ "llama.attention.sliding_window": 512 }, "llama.attention.sliding_window is 512, expected none"],
      [{ "llama.rope.scaling.type": "yarn" }, "llama.rope.scaling.type is \"yarn\", expected \"none\" or \"linear\""],
      [{ "llama.rope.dimension_count": 4 }, "llama.rope.dimension_count is 4, expected 8, as keys have"],
      [{ "llama.block_count": 1.5 }, "llama.block_count is 1.5, expected a whole number"],
      [{ "llama.embedding_length": "32" }, "llama.embedding_length is \"32\", expected a number above 0"],
      [{ "split.count": 3 }, "is one of 3 parts of a model: merge them with llama-gguf-split"],
      [{ "llama.block_count": 2 ** 31 }, "llama.block_count is 2147483648, expected at most 4096"],
      [{ "llama.rope.freq_base": Infinity }, "llama.rope.freq_base is Infinity, expected a number above 0"],
      [
        {
          "llama.attention.key_length": 4e9,
          "llama.attention.value_length": 4e9,
          "llama.rope.scaling.type": "linear",
          "llama.rope.scaling.factor": 2
        },
        "llama.attention.key_length is 4000000000, expected at most 65536"
      ],
      [{ "llama.block_count": 1 }, "tensor blk.1.attn_norm.weight: is not part of a llama model"],
      [{ "llama.block_count": 3 }, "tensor blk.2.attn_norm.weight: is missing"],
      [{ "llama.feed_forward_length": 96 }, "has shape [64,32], expected [96,32]"],
      [{ "general.alignment": 0 }, "general.alignment is 0, expected a whole number from 1 to 65536"]
    ]
    for (const [metadata, message] of changes) {
      it.effect(`refuses ${JSON.stringify(metadata)}`, () =>
        Effect.gen(function*() {
          assert.include(yield* refusal(GgufFile.ofModel(TinyModel.llama, bare(), metadata)), message)
        }))
    }

    for (const divisor of [0, -1, NaN, Infinity]) {
      it.effect(`refuses to divide a rotary frequency by ${divisor}`, () =>
        Effect.gen(function*() {
          const model = { ...TinyModel.llama, ropeDivisors: [1, divisor, 1, 1] }
          const message = `tensor rope_freqs.weight: holds ${divisor}, expected numbers above 0`
          assert.include(yield* refusal(GgufFile.ofModel(model, bare())), message)
        }))
    }

    it.effect("names the type when it refuses a tensor of an unsupported type", () =>
      Effect.gen(function*() {
        const tensors = bare().map((tensor) => tensor.shape.length === 2 ? { ...tensor, typeId: 13 } : tensor)
        assert.include(
          yield* refusal(GgufFile.ofModel(TinyModel.llama, tensors)),
          "tensor token_embd.weight: its type is Q5_K, expected one of F32, F16, Q4_0, Q4_1, Q8_0, Q4_K, Q6_K, BF16"
        )
      }))

    it.effect("refuses files that are empty, truncated, of another format or of an old version", () =>
      Effect.gen(function*() {
        const whole = GgufFile.ofModel(TinyModel.llama, bare())
        assert.include(yield* refusal(new Uint8Array(0)), "the file has only 0 bytes")
        assert.include(yield* refusal(new TextEncoder().encode("{\"a\": 1}")), "is not a GGUF file")
        assert.include(
          yield* refusal(whole.map((byte, i) => i === 4 ? 1 : byte)),
          "is version 1 of GGUF, expected 2 or 3"
        )
        assert.include(yield* refusal(whole.subarray(0, 400)), "the file has only 400 bytes: it may be truncated")
        assert.include(
          yield* refusal(whole.subarray(0, whole.length - 64)),
          "it may be truncated: copy or download it again"
        )
      }))

    it.effect("names the path of a missing file", () =>
      Effect.gen(function*() {
        const { message } = yield* Effect.flip(GgufModel.open("/no/such/model.gguf"))
        assert.include(message, "/no/such/model.gguf")
      }))
  })
})

describe("GgufHeader", () => {
  const { tensors } = randomTensors(TinyModel.llama, "Q8_0")
  const whole = GgufFile.ofModel(TinyModel.llama, tensors)

  it("neither throws nor takes much memory for wrong lengths and counts in a damaged file", () => {
    const next = TinyModel.uniform(1)
    const started = process.memoryUsage().heapUsed
    for (let round = 0; round < 2_000; round++) {
      const bytes = whole.slice(0, 4096)
      for (let flips = 0; flips < 4; flips++) bytes[8 + Math.floor(next() * 1_500)] = Math.floor(next() * 256)
      assert.include(["Parsed", "Short", "Malformed"], GgufHeader.parse(bytes)._tag)
    }
    assert.isBelow(process.memoryUsage().heapUsed - started, 2 ** 28)
  })

  it("refuses lists longer than any vocabulary before reading them", () => {
    const list = GgufFile.encode({ list: Array.from({ length: 2 }, () => [0]) }, [])
    const view = new DataView(list.buffer)
    const start = 24 + 8 + "list".length + 4
    view.setBigUint64(start + 4, 2n ** 31n, true)
    const detail = "its metadata has arrays of more than 16777216 values"
    assert.deepStrictEqual(GgufHeader.parse(list), { _tag: "Malformed", detail })
  })

  it("asks for more bytes wherever the header is cut off", () => {
    for (let length = 0; length < 1_000; length += 7) {
      assert.strictEqual(GgufHeader.parse(whole.subarray(0, length))._tag, "Short")
    }
  })
})
