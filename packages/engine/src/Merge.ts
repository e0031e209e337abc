/** Merges an adapter into its base model and writes a folder that other tools load without adapter support. */
import * as AtomicFile from "@effect-rl/files/file/AtomicFile"
import * as FileFailure from "@effect-rl/files/file/FileFailure"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as BaseModel from "./BaseModel.ts"
import * as Checkpoint from "./checkpoint/Checkpoint.ts"
import type { ModelConfig } from "./model/ModelConfig.ts"
import * as Weights from "./model/Weights.ts"
import * as Safetensors from "./numerics/Safetensors.ts"

/** The model or the adapter cannot be read, they do not match, or the folder cannot be written. */
export class MergeError extends Schema.TaggedError<MergeError>()("MergeError", { detail: Schema.String }) {
  override get message() {
    return `cannot merge: ${this.detail}`
  }
}

export interface MergeOptions {
  /** A Hugging Face model folder, a GGUF file, a preset's name, or `smollm2`. */
  readonly model: string
  /** A folder with an adapter in PEFT's format, such as a checkpoint. */
  readonly adapter: string
  /** The folder to write, which must not exist. If the merge fails, it does not exist either. */
  readonly target: string
}

const asError = (error: { readonly message: string }) => new MergeError({ detail: error.message })

/** The tensors to write, each with its source tensor in the base. An adapted tied head becomes a separate tensor. */
const tensorsOf = (config: ModelConfig, hasHead: boolean) => {
  const own = Weights.tensors(config).map(({ name, shape }) => ({ name, source: name, shape, dtype: "F32" as const }))
  const shape = [config.vocabularySize, config.hiddenSize]
  const head = { name: "lm_head.weight", source: "model.embed_tokens.weight", shape, dtype: "F32" as const }
  return config.tiedEmbeddings && hasHead ? [...own, head] : own
}

/**
 * Merges the adapter into the base weights and writes a Hugging Face folder in F32. Quantized GGUF weights are dequantized first.
 *
 * @example
 * Merge.write({ model: "models/Qwen3-0.6B", adapter: "out/checkpoints/run-1/final", target: "models/merged" })
 */
export const write = Effect.fn("Merge.write")(function*({ adapter, model, target }: MergeOptions) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const base = yield* Effect.mapError(BaseModel.open(model), asError)
  const checkpoint = yield* Effect.mapError(Checkpoint.read(adapter, base.config, { optimizer: false }), asError)
  const hasHead = checkpoint.layout.head !== undefined
  const { bytes, ordered } = Safetensors.header(tensorsOf(base.config, hasHead), { format: "pt" })
  const read = BaseModel.reader(base, checkpoint)
  const fields = { torch_dtype: "float32", tie_word_embeddings: base.config.tiedEmbeddings && !hasHead }
  const writeTo = Effect.fnUntraced(function*(folder: string) {
    yield* fs.makeDirectory(folder)
    const file = yield* fs.open(path.join(folder, "model.safetensors"), { flag: "w" })
    yield* file.writeAll(bytes)
    for (const { name, shape, source } of ordered) {
      const values = yield* Effect.mapError(read(name, source, shape), asError)
      yield* file.writeAll(new Uint8Array(values.buffer))
    }
    yield* file.sync
    for (const [name, content] of Object.entries(base.files)) {
      const whole = name === "config.json" && typeof content === "object" ? { ...content, ...fields } : content
      const text = typeof whole === "string" ? whole : `${JSON.stringify(whole, null, 2)}\n`
      yield* fs.writeFileString(path.join(folder, name), text)
    }
  }, Effect.scoped)
  yield* Effect.catchTag(
    AtomicFile.create(target, writeTo),
    "PlatformError",
    (error) => new MergeError({ detail: FileFailure.describe(target, error) })
  )
}, Effect.scoped)
