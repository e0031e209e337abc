/**
 * Exports trained models as GGUF files for llama.cpp, either merged into one file or as a base and an adapter that llama.cpp combines on
 * loading.
 */
import * as AtomicFile from "@effect-rl/files/file/AtomicFile"
import * as FileFailure from "@effect-rl/files/file/FileFailure"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import * as Schema from "effect/Schema"
import * as BaseModel from "./BaseModel.ts"
import * as Checkpoint from "./checkpoint/Checkpoint.ts"
import * as GgufConfig from "./checkpoint/GgufConfig.ts"
import * as GgufModel from "./checkpoint/GgufModel.ts"
import * as GgufTokenizer from "./checkpoint/GgufTokenizer.ts"
import * as Adapter from "./model/Adapter.ts"
import type { ModelConfig } from "./model/ModelConfig.ts"
import * as Weights from "./model/Weights.ts"
import * as GgufEncoding from "./numerics/GgufEncoding.ts"

/** The model or the adapter cannot be read, GGUF cannot represent it, or a file cannot be written. */
export class GgufExportError extends Schema.TaggedError<GgufExportError>()("GgufExportError", {
  detail: Schema.String
}) {
  override get message() {
    return `cannot export as GGUF: ${this.detail}`
  }
}

export interface GgufExportOptions {
  /** A Hugging Face model folder, a GGUF file, a preset's name, or `smollm2`. */
  readonly model: string
  /** A folder with an adapter in PEFT's format, such as a checkpoint. */
  readonly adapter: string
  /** The file (`merged`) or folder (`adapter`) to write, which must not exist. If the export fails, it does not exist either. */
  readonly target: string
}

const refuse = (detail: string) => new GgufExportError({ detail })

const asError = ({ message }: { readonly message: string }) => refuse(message)

/** The architecture's name in GGUF: Mistral models are stored as `llama`. */
const architectureOf = ({ family }: ModelConfig) => family === "mistral" ? "llama" : family

/** Whether the rows of this tensor are stored in pairs, as `llama` files store query and key rows. */
const isPaired = (config: ModelConfig, name: string) =>
  GgufModel.isPaired({ ...config, family: architectureOf(config) }, name)

/** Reorders query and key rows as GGUF files of the architecture expect them; other tensors are unchanged. */
const ordered = (config: ModelConfig, name: string, values: Float32Array, width: number): Float32Array => {
  if (!isPaired(config, name)) return values
  const out = new Float32Array(values.length)
  for (let row = 0; row < values.length / width; row++) {
    const to = GgufModel.pairedRow(row, config.headSize) * width
    out.set(values.subarray(row * width, (row + 1) * width), to)
  }
  return out
}

const tokenizerOf = (model: string, { config, files, metadata }: BaseModel.BaseModel) => {
  if (metadata !== undefined) return Effect.succeed(GgufTokenizer.copied(metadata))
  const text = (name: string) => {
    const content = files[name]
    return typeof content === "string" ? content : JSON.stringify(content ?? {})
  }
  const own = text("tokenizer_config.json")
  const texts = { definition: text("tokenizer.json"), configuration: own }
  return Effect.mapError(GgufTokenizer.toMetadata(model, texts, config.vocabularySize), asError)
}

const metadataOf = Effect.fnUntraced(function*(model: string, base: BaseModel.BaseModel) {
  const { config } = base
  const architecture = architectureOf(config)
  if (config.ropeDivisors !== undefined && architecture !== "llama") {
    return yield* refuse(`${model} scales its rotary frequencies, which GGUF files of ${architecture} cannot represent`)
  }
  const metadata: GgufEncoding.Metadata = {
    "general.architecture": ["string", architecture],
    "general.type": ["string", "model"],
    "general.name": ["string", model],
    // File type 1: mostly F16.
    "general.file_type": ["u32", 1],
    "general.quantization_version": ["u32", 2],
    [`${architecture}.context_length`]: ["u32", config.contextLength],
    [`${architecture}.embedding_length`]: ["u32", config.hiddenSize],
    [`${architecture}.block_count`]: ["u32", config.layers],
    [`${architecture}.feed_forward_length`]: ["u32", config.feedForwardSize],
    [`${architecture}.attention.head_count`]: ["u32", config.heads],
    [`${architecture}.attention.head_count_kv`]: ["u32", config.keyHeads],
    [`${architecture}.attention.key_length`]: ["u32", config.headSize],
    [`${architecture}.attention.value_length`]: ["u32", config.headSize],
    [`${architecture}.attention.layer_norm_rms_epsilon`]: ["f32", config.normEpsilon],
    [`${architecture}.rope.dimension_count`]: ["u32", config.headSize],
    [`${architecture}.rope.freq_base`]: ["f32", config.ropeTheta],
    [`${architecture}.vocab_size`]: ["u32", config.vocabularySize],
    ...yield* tokenizerOf(model, base)
  }
  return metadata
})

/** A tensor to write, with an effect that reads its values. */
interface Written<E> extends GgufEncoding.Tensor {
  readonly values: Effect.Effect<Float32Array, E>
}

const writeFile = Effect.fnUntraced(function*<E extends { readonly message: string }>(
  target: string,
  metadata: GgufEncoding.Metadata,
  tensors: ReadonlyArray<Written<E>>
) {
  const fs = yield* FileSystem.FileSystem
  const file = yield* fs.open(target, { flag: "w" })
  yield* file.writeAll(GgufEncoding.header(metadata, tensors))
  for (const { name, type, values } of tensors) {
    const bytes = GgufEncoding.padded(type, yield* Effect.mapError(values, asError))
    if (bytes === undefined) return yield* refuse(`tensor ${name}: has a number that ${type} cannot represent`)
    yield* file.writeAll(bytes)
  }
  yield* file.sync
}, Effect.scoped)

/** Creates the target completely or not at all. */
const create = <R>(
  target: string,
  write: (partial: string) => Effect.Effect<void, GgufExportError | PlatformError, R>
) =>
  Effect.catchTag(
    AtomicFile.create(target, write),
    "PlatformError",
    (error) => refuse(FileFailure.describe(target, error))
  )

/** The tensors of a model. An adapted tied head is written as a separate tensor, since merging it would change the embedding. */
const modelTensors = (base: BaseModel.BaseModel, hasHead: boolean, checkpoint?: Checkpoint.Checkpoint) => {
  const { config } = base
  const read = BaseModel.reader(base, checkpoint)
  const head = { name: "lm_head.weight", source: "model.embed_tokens.weight" }
  const shape = [config.vocabularySize, config.hiddenSize]
  const own = Weights.tensors(config).map(({ name, shape }) => ({ name, source: name, shape }))
  const all = config.tiedEmbeddings && hasHead ? [...own, { ...head, shape }] : own
  const tensors = all.map(({ name, shape, source }): Written<BaseModel.BaseModelError> => ({
    name: GgufModel.nameOf(name),
    // llama.cpp expects vectors in F32.
    type: shape.length > 1 ? "F16" : "F32",
    shape,
    values: Effect.map(read(name, source, shape), (values) => ordered(config, name, values, shape[1] ?? 1))
  }))
  const divisors = config.ropeDivisors
  if (divisors === undefined) return tensors
  const name = GgufConfig.ropeDivisors
  const values = Effect.succeed(Float32Array.from(divisors))
  return [...tensors, { name, type: "F32", shape: [divisors.length], values } satisfies Written<never>]
}

/** The two factors of each adapted matrix: A `[rank, inputs]` and B `[outputs, rank]`, unrounded. */
const adapterTensors = (config: ModelConfig, { layout, parameters }: Checkpoint.Checkpoint) =>
  Adapter.namedTargets(config, layout).flatMap(({ outputs, path, target }): ReadonlyArray<Written<never>> => {
    const { paddedRank, rank } = layout
    const { a, b, inputs, outputs: stride } = target
    const first = Float32Array.from(
      { length: rank * inputs },
      (_, at) => parameters[a + (at % inputs) * paddedRank + Math.floor(at / inputs)] ?? 0
    )
    const second = Float32Array.from(
      { length: outputs * rank },
      (_, at) => parameters[b + (at % rank) * stride + Math.floor(at / rank)] ?? 0
    )
    const name = GgufModel.nameOf(`${path}.weight`)
    const rows = ordered(config, `${path}.weight`, second, rank)
    return [
      { name: `${name}.lora_a`, type: "F32", shape: [rank, inputs], values: Effect.succeed(first) },
      { name: `${name}.lora_b`, type: "F32", shape: [outputs, rank], values: Effect.succeed(rows) }
    ]
  })

const opened = Effect.fnUntraced(function*({ adapter, model }: GgufExportOptions) {
  const base = yield* Effect.mapError(BaseModel.open(model), asError)
  const checkpoint = yield* Effect.mapError(Checkpoint.read(adapter, base.config, { optimizer: false }), asError)
  return { base, checkpoint, hasHead: checkpoint.layout.head !== undefined, metadata: yield* metadataOf(model, base) }
})

/**
 * Merges the adapter into the base weights and writes one GGUF file: matrices as F16, rounded to nearest, and vectors as F32.
 *
 * @example
 * GgufExport.merged({ model: "effect-rl/tiny-128", adapter: "out/checkpoints/run-1/final", target: "policy.gguf" })
 */
export const merged = Effect.fn("GgufExport.merged")(function*(options: GgufExportOptions) {
  const { base, checkpoint, hasHead, metadata } = yield* opened(options)
  const tensors = modelTensors(base, hasHead, checkpoint)
  yield* create(options.target, (partial) => writeFile(partial, metadata, tensors))
}, Effect.scoped)

/**
 * Writes a folder with `base.gguf`, the base weights in F16, and `adapter.gguf`, the adapter in F32. Use them together: `llama-cli -m
 * base.gguf --lora adapter.gguf`. If the adapter changes a tied head, `base.gguf` holds a separate head tensor.
 *
 * @example
 * GgufExport.adapter({ model: "effect-rl/tiny-128", adapter: "out/checkpoints/run-1/final", target: "policy" })
 */
export const adapter = Effect.fn("GgufExport.adapter")(function*(options: GgufExportOptions) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const { base, checkpoint, hasHead, metadata } = yield* opened(options)
  const described: GgufEncoding.Metadata = {
    "general.architecture": ["string", architectureOf(base.config)],
    "general.type": ["string", "adapter"],
    "adapter.type": ["string", "lora"],
    "adapter.lora.alpha": ["f32", checkpoint.layout.alpha]
  }
  yield* create(
    options.target,
    Effect.fnUntraced(function*(folder) {
      yield* fs.makeDirectory(folder)
      yield* writeFile(path.join(folder, "base.gguf"), metadata, modelTensors(base, hasHead))
      yield* writeFile(path.join(folder, "adapter.gguf"), described, adapterTensors(base.config, checkpoint))
    })
  )
}, Effect.scoped)
