/** A model and an adapter as one model: a folder that other tools load without knowing of adapters. */
import * as FileFailure from "@effect-rl/files/file/FileFailure"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import * as Schema from "effect/Schema"
import * as Checkpoint from "./checkpoint/Checkpoint.ts"
import * as GgufModel from "./checkpoint/GgufModel.ts"
import * as GgufTokenizer from "./checkpoint/GgufTokenizer.ts"
import * as ModelConfigFile from "./checkpoint/ModelConfigFile.ts"
import * as ModelFolder from "./checkpoint/ModelFolder.ts"
import type * as ModelWeights from "./checkpoint/ModelWeights.ts"
import * as Adapter from "./model/Adapter.ts"
import type { ModelConfig } from "./model/ModelConfig.ts"
import * as Weights from "./model/Weights.ts"
import * as Kernels from "./numerics/Kernels.ts"
import * as Memory from "./numerics/Memory.ts"
import * as Safetensors from "./numerics/Safetensors.ts"
import * as TensorType from "./numerics/TensorType.ts"
import * as Preset from "./Preset.ts"
import * as SmolLm2 from "./SmolLm2.ts"

/** The model or the adapter cannot be read, they do not fit together, or the folder cannot be written. */
export class MergeError extends Schema.TaggedError<MergeError>()("MergeError", { detail: Schema.String }) {
  override get message() {
    return `cannot merge: ${this.detail}`
  }
}

export interface MergeOptions {
  /** Folder as Hugging Face saves models, GGUF file, or the name of a preset or of `smollm2`. */
  readonly model: string
  /** Folder of an adapter in PEFT's format, such as a checkpoint's. */
  readonly adapter: string
  /** Folder to write, which must not exist. */
  readonly target: string
}

const asError = (error: { readonly message: string }) => new MergeError({ detail: error.message })

/** The files beside the weights, and the tensors of the base model. */
interface Base {
  readonly config: ModelConfig
  readonly find: ModelWeights.Find<MergeError>
  readonly files: Readonly<Record<string, object | string>>
}

const narrowed =
  <E extends { readonly message: string }>(find: ModelWeights.Find<E>): ModelWeights.Find<MergeError> =>
  (name, shape) =>
    Effect.map(Effect.mapError(find(name, shape), asError), ({ read, type }) => ({
      type,
      read: (offset, into) => Effect.mapError(read(offset, into), asError)
    }))

/** Files of a folder that define its tokenizer, its chat template and how it is sampled from. */
const companions = [
  "tokenizer.json",
  "tokenizer_config.json",
  "chat_template.jinja",
  "special_tokens_map.json",
  "generation_config.json"
]

const decodeRecord = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown)))

const ofFolder = Effect.fnUntraced(function*(folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const opened = yield* Effect.mapError(ModelFolder.open(folder), asError)
  const find = yield* Effect.mapError(ModelFolder.finder(opened), asError)
  const text = yield* Effect.mapError(fs.readFileString(path.join(folder, "config.json")), asError)
  const files: Record<string, object | string> = {
    "config.json": yield* Effect.mapError(decodeRecord(text), asError)
  }
  for (const name of companions) {
    const file = path.join(folder, name)
    if (!(yield* Effect.orElseSucceed(fs.exists(file), () => false))) continue
    files[name] = yield* Effect.mapError(fs.readFileString(file), asError)
  }
  return { config: opened.config, find: narrowed(find), files } satisfies Base
})

const ofFile = Effect.fnUntraced(function*(file: string) {
  const opened = yield* Effect.mapError(GgufModel.open(file), asError)
  const find = yield* Effect.mapError(GgufModel.finder(opened), asError)
  const tokenizer = yield* Effect.mapError(GgufTokenizer.files(file, opened.metadata), asError)
  const config = ModelConfigFile.toFields(opened.config)
  if (config === undefined) {
    const detail = `${file}: its rotary scaling cannot be written in a config.json`
    return yield* new MergeError({ detail })
  }
  const files = {
    "config.json": config,
    "tokenizer.json": { version: "1.0", ...tokenizer.definition },
    "tokenizer_config.json": tokenizer.configuration
  }
  return { config: opened.config, find: narrowed(find), files } satisfies Base
})

/** Adds (alpha/rank)·(A·B)ᵀ to a matrix `[outputs, inputs]`. */
const addProduct = (
  matrix: Float32Array,
  { layout: { alpha, paddedRank, rank }, parameters }: Checkpoint.Checkpoint,
  { a, b, inputs, outputs: stride }: Adapter.Target,
  outputs: number
): void => {
  const scale = alpha / rank
  for (let output = 0; output < outputs; output++) {
    for (let r = 0; r < rank; r++) {
      const factor = scale * (parameters[b + r * stride + output] ?? 0)
      const row = output * inputs
      for (let i = 0; i < inputs; i++) {
        matrix[row + i] = (matrix[row + i] ?? 0) + factor * (parameters[a + i * paddedRank + r] ?? 0)
      }
    }
  }
}

/** Reads tensors as f32, with the adapter's changes. */
const reader = (checkpoint: Checkpoint.Checkpoint, { config, find }: Base) => {
  const memory = Memory.make()
  const kernels = Kernels.instantiate(Kernels.compile(), memory)
  const reserver = Memory.reserver(memory)
  const targets = new Map(
    Adapter.namedTargets(config, checkpoint.layout).map((named) => [`${named.path}.weight`, named])
  )
  return Effect.fnUntraced(function*(name: string, source: string, shape: ReadonlyArray<number>) {
    const tensor = yield* find(source, shape)
    const count = shape.reduce((product, size) => product * size, 1)
    const bytes = TensorType.bytesOf(tensor.type, count)
    const [raw, wide] = [reserver.allocate(Math.ceil(bytes / 4)), reserver.allocate(count)]
    yield* tensor.read(0, Memory.bytes(memory, raw, bytes))
    kernels.dequantize(wide, raw, TensorType.idOf(tensor.type), count)
    const values = Memory.floats(memory, wide, count).slice()
    reserver.release(raw)
    reserver.release(wide)
    const named = targets.get(name)
    if (named !== undefined) addProduct(values, checkpoint, named.target, named.outputs)
    return values
  })
}

/** The tensors to write, each with its source in the base: an adapted tied head becomes a tensor of its own. */
const tensorsOf = (config: ModelConfig, hasHead: boolean) => {
  const own = Weights.tensors(config).map(({ name, shape }) => ({ name, source: name, shape, dtype: "F32" as const }))
  const shape = [config.vocabularySize, config.hiddenSize]
  const head = { name: "lm_head.weight", source: "model.embed_tokens.weight", shape, dtype: "F32" as const }
  return config.tiedEmbeddings && hasHead ? [...own, head] : own
}

/** Where a model lies on disk. */
const placeOf = Effect.fnUntraced(function*(model: string) {
  const path = yield* Path.Path
  const preset = Preset.folders.get(model)
  if (preset !== undefined) return yield* Effect.orDie(path.fromFileUrl(preset))
  return model === SmolLm2.name ? yield* SmolLm2.file : model
})

/**
 * Writes base weights plus the adapter's change as a Hugging Face folder in F32, which rounds nothing. Weights of a GGUF
 * file are written as the values they stand for.
 *
 * @example
 * Merge.write({ model: "models/Qwen3-0.6B", adapter: "out/checkpoints/run-1/final", target: "models/merged" })
 */
export const write = Effect.fn("Merge.write")(function*({ adapter, model, target }: MergeOptions) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const place = yield* placeOf(model)
  const base: Base = place.endsWith(".gguf") ? yield* ofFile(place) : yield* ofFolder(place)
  const checkpoint = yield* Effect.mapError(Checkpoint.read(adapter, base.config, { optimizer: false }), asError)
  const hasHead = checkpoint.layout.head !== undefined
  const { bytes, ordered } = Safetensors.header(tensorsOf(base.config, hasHead), { format: "pt" })
  const failed = Effect.mapError((error: PlatformError) =>
    new MergeError({ detail: FileFailure.describe(target, error) })
  )
  yield* failed(fs.makeDirectory(target))
  const file = yield* failed(fs.open(path.join(target, "model.safetensors"), { flag: "w" }))
  yield* failed(file.writeAll(bytes))
  const read = reader(checkpoint, base)
  for (const { name, shape, source } of ordered) {
    const values = yield* read(name, source, shape)
    yield* failed(file.writeAll(new Uint8Array(values.buffer)))
  }
  yield* failed(file.sync)
  const fields = { torch_dtype: "float32", tie_word_embeddings: base.config.tiedEmbeddings && !hasHead }
  for (const [name, content] of Object.entries(base.files)) {
    const whole = name === "config.json" && typeof content === "object" ? { ...content, ...fields } : content
    const text = typeof whole === "string" ? whole : `${JSON.stringify(whole, null, 2)}\n`
    yield* failed(fs.writeFileString(path.join(target, name), text))
  }
}, Effect.scoped)
