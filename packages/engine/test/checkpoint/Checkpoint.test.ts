import * as Checkpoint from "@effect-rl/engine/checkpoint/Checkpoint"
import * as Adapter from "@effect-rl/engine/model/Adapter"
import * as Safetensors from "@effect-rl/engine/numerics/Safetensors"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem, Path } from "effect"
import * as TinyModel from "../TinyModel.ts"

const model = TinyModel.qwen3

/** A block with zeros in the padding of the rank, as in every adapter. */
const block = (layout: Adapter.AdapterLayout, seed: number): Float32Array => {
  const next = TinyModel.uniform(seed)
  const values = new Float32Array(layout.parameterFloats)
  for (const { outputs, target } of Adapter.namedTargets(model, layout)) {
    for (let r = 0; r < layout.rank; r++) {
      for (let i = 0; i < target.inputs; i++) values[target.a + i * layout.paddedRank + r] = next() - 0.5
      for (let j = 0; j < outputs; j++) values[target.b + r * target.outputs + j] = next() - 0.5
    }
  }
  return values
}

const checkpoint = (config: Adapter.AdapterConfig): Checkpoint.Checkpoint => {
  const layout = Adapter.layout(model, config)
  return {
    layout,
    baseModel: "effect-rl/tiny",
    parameters: block(layout, 1),
    optimizer: { first: block(layout, 2), second: block(layout, 3), step: 17 }
  }
}

const folder = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())

const written = Effect.fnUntraced(function*(value: Checkpoint.Checkpoint) {
  const place = yield* folder
  yield* Checkpoint.write(place, model, value)
  return place
})

/** Replaces a file as another tool would, and removes `SHA256SUMS`, so the checksums do not reveal the change. */
const change = Effect.fnUntraced(function*(place: string, file: string, content: Uint8Array | string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  yield* fs.remove(path.join(place, "SHA256SUMS"), { force: true })
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content
  yield* fs.writeFile(path.join(place, file), bytes)
})

const peft = { peft_type: "LORA", r: 4, lora_alpha: 32, target_modules: ["q_proj"], base_model_name_or_path: null }

describe("Checkpoint", () => {
  layer(NodeServices.layer)((it) => {
    for (
      const config of [
        { rank: 8 },
        { rank: 5, alpha: 16, trainMlp: false },
        { rank: 3, trainAttention: false, trainUnembed: false }
      ]
    ) {
      it.effect(`reads back what it wrote, optimizer included: ${JSON.stringify(config)}`, () =>
        Effect.gen(function*() {
          const value = checkpoint(config)
          const place = yield* written(value)
          assert.deepStrictEqual(yield* Checkpoint.read(place, model, { optimizer: true }), value)
          const weights = yield* Checkpoint.read(place, model, { optimizer: false })
          assert.deepStrictEqual(weights, { ...value, optimizer: undefined })
        }))
    }

    it.effect("names and shapes tensors as PEFT does, transposed from the engine's layout", () =>
      Effect.gen(function*() {
        const path = yield* Path.Path
        const value = checkpoint({ rank: 5 })
        const place = yield* written(value)
        const reader = yield* Safetensors.open(path.join(place, "adapter_model.safetensors"))
        assert.strictEqual(reader.tensors.size, 2 * (2 * 7 + 1))
        const a = yield* reader.find("base_model.model.model.layers.1.mlp.down_proj.lora_A.weight", [5, 64])
        const b = yield* reader.find("base_model.model.lm_head.lora_B.weight", [model.vocabularySize, 5])
        const values = new Float32Array(5 * 64)
        yield* reader.read(a, 0, new Uint8Array(values.buffer))
        const target = value.layout.layers[1]?.down
        assert.strictEqual(values[2 * 64 + 7], value.parameters[(target?.a ?? 0) + 7 * 8 + 2])
        assert.strictEqual(b.dtype, "F32")
      }))

    it.effect("names its base model and rank", () =>
      Effect.gen(function*() {
        const place = yield* written(checkpoint({ rank: 5, trainMlp: false }))
        const { baseModel, config } = yield* Checkpoint.readConfig(place)
        assert.strictEqual(baseModel, "effect-rl/tiny")
        assert.deepStrictEqual(config, {
          rank: 5,
          alpha: 32,
          trainAttention: true,
          trainMlp: false,
          trainUnembed: true
        })
      }))

    it.effect("requires the optimizer state only if it is requested", () =>
      Effect.gen(function*() {
        const place = yield* written({ ...checkpoint({ rank: 8 }), optimizer: undefined })
        yield* Checkpoint.read(place, model, { optimizer: false })
        const error = yield* Effect.flip(Checkpoint.read(place, model, { optimizer: true }))
        assert.include(error.message, "optimizer.safetensors")
      }))

    /** Overwrites part of a file, as a failing disk might. */
    const damage = Effect.fnUntraced(function*(place: string, name: string, at: number, count: number, zero: boolean) {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const file = path.join(place, name)
      const bytes = yield* fs.readFile(file)
      const from = Math.floor(at * (bytes.length - count))
      for (let i = from; i < from + count; i++) bytes[i] = zero ? 0 : (bytes[i] ?? 0) ^ 1
      yield* fs.writeFile(file, bytes)
      return file
    })

    it.effect.each(
      ["adapter_model.safetensors", "optimizer.safetensors"].flatMap((name) => [
        { what: "a flipped bit in the first values", name, at: 0.6, count: 1, zero: false },
        { what: "a flipped bit in the last value", name, at: 1, count: 1, zero: false },
        { what: "512 zeros", name, at: 0.8, count: 512, zero: true }
      ])
    )("refuses a checkpoint with $what of $name", ({ at, count, name, zero }) =>
      Effect.gen(function*() {
        const place = yield* written(checkpoint({ rank: 8 }))
        const file = yield* damage(place, name, at, count, zero)
        const error = yield* Effect.flip(Checkpoint.read(place, model, { optimizer: true }))
        assert.match(
          error.message,
          /^.*\.safetensors: is damaged: its SHA-256 is [0-9a-f]{64}, but was [0-9a-f]{64} when it was saved$/
        )
        assert.isTrue(error.message.startsWith(file))
      }))

    it.effect("refuses a checkpoint with damaged checksums", () =>
      Effect.gen(function*() {
        const place = yield* written(checkpoint({ rank: 8 }))
        const file = yield* damage(place, "SHA256SUMS", 0, 10, true)
        const error = yield* Effect.flip(Checkpoint.read(place, model, { optimizer: false }))
        assert.include(error.message, `${file}: is damaged`)
      }))

    it.effect("refuses a checkpoint whose checksum file is missing or changed, if a digest is given", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const { join } = yield* Path.Path
        const place = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
        const digest = yield* Checkpoint.write(place, model, checkpoint({ rank: 8 }))
        const read = Checkpoint.read(place, model, { optimizer: true, digest })
        yield* read
        const file = join(place, "SHA256SUMS")
        const sums = yield* fs.readFileString(file)
        yield* fs.writeFileString(file, sums.replace(/^./, (digit) => digit === "0" ? "1" : "0"))
        assert.include(
          (yield* Effect.flip(read)).message,
          `${file}: does not belong to this checkpoint: its SHA-256 is `
        )
        assert.include((yield* Effect.flip(read)).message, `, but was ${digest} when it was saved`)
        yield* fs.remove(file)
        assert.strictEqual(
          (yield* Effect.flip(read)).message,
          `${file}: is missing, but existed when the checkpoint was saved`
        )
        yield* Checkpoint.read(place, model, { optimizer: true })
      }))

    const configs: ReadonlyArray<readonly [content: string, message: string]> = [
      ["{", "adapter_config.json"],
      [JSON.stringify({ ...peft, peft_type: "IA3" }), "peft_type"],
      [JSON.stringify({ ...peft, r: 0 }), "\"r\""],
      [JSON.stringify({ ...peft, use_rslora: true }), "use_rslora is true, which the engine does not support"],
      [JSON.stringify({ ...peft, use_dora: true }), "use_dora is true, which the engine does not support"],
      [JSON.stringify({ ...peft, alpha_pattern: { q_proj: 8 } }), "alpha_pattern is {\"q_proj\":8}, which"],
      [JSON.stringify({ ...peft, rank_pattern: { q_proj: 8 } }), "rank_pattern is {\"q_proj\":8}, which"],
      [JSON.stringify({ ...peft, lora_bias: true }), "lora_bias is true, which"],
      [JSON.stringify({ ...peft, bias: "lora_only" }), "bias is \"lora_only\", which"],
      [JSON.stringify({ ...peft, modules_to_save: ["lm_head"] }), "modules_to_save is [\"lm_head\"], which"],
      [JSON.stringify({ ...peft, layers_to_transform: [0] }), "layers_to_transform is [0], which"],
      [JSON.stringify({ ...peft, fan_in_fan_out: true }), "fan_in_fan_out is true, which"],
      [JSON.stringify({ ...peft, init_lora_weights: "pissa" }), "init_lora_weights is \"pissa\", which"],
      [JSON.stringify({ ...peft, a_field_of_the_future: 3 }), "a_field_of_the_future is 3, which"],
      [JSON.stringify({ ...peft, target_modules: ["q_proj", "c_attn"] }), "target_modules has c_attn, expected only"]
    ]
    for (const [content, message] of configs) {
      it.effect(`refuses the configuration ${content}`, () =>
        Effect.gen(function*() {
          const place = yield* written(checkpoint({ rank: 8 }))
          yield* change(place, "adapter_config.json", content)
          const error = yield* Effect.flip(Checkpoint.read(place, model, { optimizer: false }))
          assert.include(error.message, message)
        }))
    }

    /** Adds, removes or converts tensors in an adapter's file. */
    const changeTensors = Effect.fnUntraced(function*(
      place: string,
      update: (tensors: ReadonlyArray<Safetensors.Tensor>) => ReadonlyArray<Safetensors.Tensor>
    ) {
      const path = yield* Path.Path
      const reader = yield* Safetensors.open(path.join(place, "adapter_model.safetensors"))
      const tensors = yield* Effect.forEach(reader.tensors.values(), (info) =>
        Effect.gen(function*() {
          const data = new Uint8Array(info.bytes)
          yield* reader.read(info, 0, data)
          return { name: info.name, dtype: "F32", shape: info.shape, data } satisfies Safetensors.Tensor
        }))
      yield* change(place, "adapter_model.safetensors", Safetensors.encode(update(tensors)))
    })

    const q = "base_model.model.model.layers.0.self_attn.q_proj"
    for (const spare of [`${q}.lora_magnitude_vector`, `${q}.lora_B.bias`, "base_model.model.lm_head.weight"]) {
      it.effect(`refuses an adapter with the tensor ${spare}`, () =>
        Effect.gen(function*() {
          const place = yield* written(checkpoint({ rank: 8 }))
          const extra: Safetensors.Tensor = { name: spare, dtype: "F32", shape: [1], data: new Uint8Array(4) }
          yield* changeTensors(place, (tensors) => [...tensors, extra])
          const error = yield* Effect.flip(Checkpoint.read(place, model, { optimizer: false }))
          assert.include(
            error.message,
            `tensor ${spare}: is not part of a LoRA adapter that the engine supports for this model`
          )
        }))
    }

    it.effect("reads an adapter of queries and values only, with zeros for the other factors", () =>
      Effect.gen(function*() {
        const value = checkpoint({ rank: 8, trainMlp: false, trainUnembed: false })
        const place = yield* written(value)
        yield* changeTensors(place, (tensors) => tensors.filter(({ name }) => /[qv]_proj/.test(name)))
        yield* change(
          place,
          "adapter_config.json",
          JSON.stringify({
            ...peft,
            r: 8,
            target_modules: ["q_proj", "v_proj"],
            peft_version: "0.21.2",
            lora_dropout: 0.1
          })
        )
        const { layout, parameters } = yield* Checkpoint.read(place, model, { optimizer: false })
        for (const { path, target } of Adapter.namedTargets(model, layout)) {
          const from = (values: Float32Array) =>
            values.slice(target.a, target.a + layout.paddedRank * (target.inputs + target.outputs))
          const expected = from(value.parameters)
          assert.deepStrictEqual(from(parameters), /[qv]_proj/.test(path) ? expected : expected.fill(0))
        }
      }))

    it.effect("reads an adapter that was saved in half precision", () =>
      Effect.gen(function*() {
        const value = checkpoint({ rank: 8 })
        const place = yield* written(value)
        yield* changeTensors(place, (tensors) =>
          tensors.map((tensor, index) => {
            const dtype = index % 2 === 0 ? "BF16" : "F16"
            const data = new Uint8Array(tensor.data.length / 2)
            for (let i = 0; i < data.length; i += 2) data.set(dtype === "BF16" ? [0x80, 0x3f] : [0x00, 0xb8], i)
            return { ...tensor, dtype, data }
          }))
        const { parameters } = yield* Checkpoint.read(place, model, { optimizer: false })
        assert.deepStrictEqual(new Set(parameters.filter((value) => value !== 0)), new Set([1, -0.5]))
      }))

    it.effect("refuses an adapter of another model and names the tensor", () =>
      Effect.gen(function*() {
        const place = yield* written(checkpoint({ rank: 8 }))
        const wider = { ...model, feedForwardSize: 96 }
        const error = yield* Effect.flip(Checkpoint.read(place, wider, { optimizer: false }))
        assert.include(error.message, "mlp.gate_proj.lora_B.weight: has shape [64,8], expected [96,8]")
        const deeper = yield* Effect.flip(Checkpoint.read(place, { ...model, layers: 3 }, { optimizer: false }))
        assert.include(deeper.message, "model.layers.2.self_attn.q_proj.lora_A.weight: is missing")
      }))

    it.effect("refuses a truncated file and a step that is not a number", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const path = yield* Path.Path
        const value = checkpoint({ rank: 8 })
        const place = yield* written(value)
        const bytes = yield* fs.readFile(path.join(place, "adapter_model.safetensors"))
        yield* change(place, "adapter_model.safetensors", bytes.subarray(0, bytes.length - 4))
        const cut = yield* Effect.flip(Checkpoint.read(place, model, { optimizer: false }))
        assert.include(cut.message, "it may be truncated")
        yield* change(place, "adapter_model.safetensors", bytes)
        yield* change(place, "optimizer.safetensors", Safetensors.encode([], { step: "many" }))
        const step = yield* Effect.flip(Checkpoint.read(place, model, { optimizer: true }))
        assert.include(step.message, "step is many, expected a whole number")
      }))

    it.effect("names the path that could not be written", () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(Checkpoint.write("/nowhere/at/all", model, checkpoint({ rank: 8 })))
        assert.include(error.message, "/nowhere/at/all/adapter_config.json")
      }))
  })
})
