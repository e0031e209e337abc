/** Checks model folders that cannot be used: errors name the file and the value, and other models are still served. */
import { Tinker } from "@effect-rl/core"
import * as Engine from "@effect-rl/engine/Engine"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Path } from "effect"
import * as TestEngine from "./runtime/TestEngine.ts"

const preset = new URL("../presets/tiny-64/", import.meta.url).pathname

type Change = (bytes: Uint8Array) => Uint8Array

const text = (change: (text: string) => string): Change => (bytes) =>
  new TextEncoder().encode(change(new TextDecoder().decode(bytes)))

/** Changes the JSON of a safetensors header and leaves the data unchanged. */
const header = (change: (json: string) => string): Change => (bytes) => {
  const start = 8 + Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true))
  const json = new TextEncoder().encode(change(new TextDecoder().decode(bytes.subarray(8, start))))
  const out = new Uint8Array(8 + json.length + bytes.length - start)
  new DataView(out.buffer).setBigUint64(0, BigInt(json.length), true)
  out.set(json, 8)
  out.set(bytes.subarray(start), 8 + json.length)
  return out
}

/** A copy of the preset with one file changed. */
const folderWith = Effect.fnUntraced(function*(file: string, change: Change) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const folder = yield* fs.makeTempDirectoryScoped()
  for (const name of yield* fs.readDirectory(preset)) {
    const bytes = yield* fs.readFile(join(preset, name))
    yield* fs.writeFile(join(folder, name), name === file ? change(bytes) : bytes)
  }
  return folder
})

const withModel = <A, E, R>(folder: string, use: Effect.Effect<A, E, R>) =>
  Effect.provide(use, Engine.layerOptions({ checkpoints: folder, models: [folder], workers: 0 }))

const sampler = (baseModel: string) => Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ baseModel }))

type Case = readonly [fault: string, change: Change, message: string]

const half: Change = (bytes) => bytes.subarray(0, bytes.length / 2)
const norm = "model.norm.weight"

const weights: ReadonlyArray<Case> = [
  ["are empty", () => new Uint8Array(0), "model.safetensors: header: the file has only 0 bytes"],
  ["are cut off", half, "it may be truncated: copy or download it again"],
  [
    "begin with a wrong length",
    (bytes) => Uint8Array.from(bytes, (byte, at) => at < 6 ? 255 : byte),
    "model.safetensors: header: its length is given as 281474976710655, expected at most "
  ],
  [
    "are of another type",
    header((json) => json.replaceAll("BF16", "I16")),
    "tensor model.embed_tokens.weight: dtype is I16, expected one of F32, F16, BF16"
  ],
  [
    "are of another shape",
    header((json) => json.replace("\"shape\":[64]", "\"shape\":[8,8]")),
    "tensor model.layers.0.input_layernorm.weight: has shape [8,8], expected [64]"
  ],
  [
    "lack a tensor",
    header((json) => json.replace(norm, "model.other.weight")),
    `model.safetensors: tensor ${norm}: is missing; the file has 35 others`
  ]
]

const tokenizers: ReadonlyArray<Case> = [
  ["is cut off", half, "tokenizer.json is not a tokenizer definition: Expected a valid JSON string"],
  ["is of another kind", text(() => "{}"), "tokenizer.json is not a tokenizer definition: Missing key"],
  ["has no vocabulary", text((json) => json.replace("\"vocab\"", "\"words\"")), "[\"model\"][\"vocab\"]"]
]

const configurations: ReadonlyArray<Case> = [
  ["is cut off", half, "config.json: Expected a valid JSON string"],
  [
    "is of another family",
    text((json) => json.replaceAll("qwen3", "gpt2")),
    "config.json: model_type is \"gpt2\", which has learned positions, LayerNorm and GELU, expected "
  ]
]

/** Checks that requests for the model fail with a permanent error, while another model is served. */
const refuses = (file: string) => ([, change, message]: Case) =>
  Effect.gen(function*() {
    const folder = yield* folderWith(file, change)
    yield* withModel(
      folder,
      Effect.gen(function*() {
        const error = yield* Effect.flip(sampler(folder))
        assert.include(error.message, folder)
        assert.include(error.message, message)
        assert.isFalse(error.isRetryable)
        yield* sampler(TestEngine.model)
      })
    )
  }).pipe(Effect.provide(NodeServices.layer))

describe("requests fail for a model folder", () => {
  it.effect.each(weights)("whose weights %s", refuses("model.safetensors"))

  it.effect.each(tokenizers)("whose tokenizer %s", refuses("tokenizer.json"))

  it.effect.each(configurations)("whose configuration %s", refuses("config.json"))
})
