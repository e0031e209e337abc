/** A model on disk: its configuration, its tensors as f32, and its tokenizer and chat template files. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import type * as Checkpoint from "./checkpoint/Checkpoint.ts"
import * as GgufModel from "./checkpoint/GgufModel.ts"
import * as GgufTokenizer from "./checkpoint/GgufTokenizer.ts"
import * as ModelConfigFile from "./checkpoint/ModelConfigFile.ts"
import * as ModelFolder from "./checkpoint/ModelFolder.ts"
import type * as ModelWeights from "./checkpoint/ModelWeights.ts"
import * as Adapter from "./model/Adapter.ts"
import type { ModelConfig } from "./model/ModelConfig.ts"
import type { Metadata } from "./numerics/GgufHeader.ts"
import * as Kernels from "./numerics/Kernels.ts"
import * as Memory from "./numerics/Memory.ts"
import * as TensorType from "./numerics/TensorType.ts"
import * as Preset from "./Preset.ts"
import * as SmolLm2 from "./SmolLm2.ts"

/** The model's files are missing, invalid or unsupported. */
export class BaseModelError extends Schema.TaggedError<BaseModelError>()("BaseModelError", { detail: Schema.String }) {
  override get message() {
    return this.detail
  }
}

const asError = (error: { readonly message: string }) => new BaseModelError({ detail: error.message })

/** An opened model. `files` has the contents of a Hugging Face folder's files, except the weights, by name; an object stands for JSON. */
export interface BaseModel {
  readonly config: ModelConfig
  readonly find: ModelWeights.Find<BaseModelError>
  readonly files: Readonly<Record<string, object | string>>
  /** The metadata of a GGUF file; undefined for a folder. */
  readonly metadata: Metadata | undefined
}

const narrowed =
  <E extends { readonly message: string }>(find: ModelWeights.Find<E>): ModelWeights.Find<BaseModelError> =>
  (name, shape) =>
    Effect.map(Effect.mapError(find(name, shape), asError), ({ read, type }) => ({
      type,
      read: (offset, into) => Effect.mapError(read(offset, into), asError)
    }))

/** Files of a model folder that define its tokenizer, chat template and default sampling settings. */
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
  return { config: opened.config, find: narrowed(find), files, metadata: undefined } satisfies BaseModel
})

const ofFile = Effect.fnUntraced(function*(file: string) {
  const opened = yield* Effect.mapError(GgufModel.open(file), asError)
  const find = yield* Effect.mapError(GgufModel.finder(opened), asError)
  const tokenizer = yield* Effect.mapError(GgufTokenizer.files(file, opened.metadata), asError)
  const config = ModelConfigFile.toFields(opened.config)
  if (config === undefined) {
    const detail = `${file}: its rotary scaling cannot be written to a config.json`
    return yield* new BaseModelError({ detail })
  }
  const files = {
    "config.json": config,
    "tokenizer.json": { version: "1.0", ...tokenizer.definition },
    "tokenizer_config.json": tokenizer.configuration
  }
  return { config: opened.config, find: narrowed(find), files, metadata: opened.metadata } satisfies BaseModel
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

/**
 * Returns a function that reads the tensor `source` as f32. If `checkpoint` is given, the function adds the adapter's change of the tensor
 * `name`.
 */
export const reader = ({ config, find }: BaseModel, checkpoint?: Checkpoint.Checkpoint) => {
  const memory = Memory.make()
  const kernels = Kernels.instantiate(Kernels.compile(), memory)
  const reserver = Memory.reserver(memory)
  const named = checkpoint === undefined ? [] : Adapter.namedTargets(config, checkpoint.layout)
  const targets = new Map(named.map((target) => [`${target.path}.weight`, target]))
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
    const target = targets.get(name)
    if (checkpoint !== undefined && target !== undefined) addProduct(values, checkpoint, target.target, target.outputs)
    return values
  })
}

/** The path of a model: a preset's folder, SmolLM2's file, or `model` itself. */
const placeOf = Effect.fnUntraced(function*(model: string) {
  const path = yield* Path.Path
  const preset = Preset.folders.get(model)
  if (preset !== undefined) return yield* Effect.orDie(path.fromFileUrl(preset))
  return model === SmolLm2.name ? yield* SmolLm2.file : model
})

/** Opens a Hugging Face folder, a GGUF file, a preset or `smollm2`. The scope closes the files. */
export const open = Effect.fnUntraced(function*(model: string) {
  const place = yield* placeOf(model)
  return place.endsWith(".gguf") ? yield* ofFile(place) : yield* ofFolder(place)
})
