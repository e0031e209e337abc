/** A Hugging Face model folder: `config.json`, safetensors files and a tokenizer. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import type { Compute } from "../model/Compute.ts"
import type { ModelConfig } from "../model/ModelConfig.ts"
import type { StorageOf } from "../model/Weights.ts"
import * as Safetensors from "../numerics/Safetensors.ts"
import * as TensorType from "../numerics/TensorType.ts"
import * as ModelConfigFile from "./ModelConfigFile.ts"
import * as ModelWeights from "./ModelWeights.ts"

/** A file of the folder is missing, unreadable or invalid, or a tied head differs from the embedding. */
export class ModelFolderError extends Schema.TaggedError<ModelFolderError>()("ModelFolderError", {
  folder: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${this.folder}: ${this.detail}`
  }
}

export interface ModelFolder {
  readonly folder: string
  readonly config: ModelConfig
  readonly storageOf: StorageOf
}

const configFile = "config.json"
const singleFile = "model.safetensors"
const indexFile = "model.safetensors.index.json"

const readText = Effect.fnUntraced(function*(folder: string, name: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  return yield* fs.readFileString(path.join(folder, name)).pipe(
    Effect.mapError((error) => new ModelFolderError({ folder, detail: `${name} cannot be read: ${error.message}` }))
  )
})

const ShardIndex = Schema.fromJsonString(Schema.Struct({ weight_map: Schema.Record(Schema.String, Schema.String) }))

/** The names of the safetensors files that hold the weights. */
const weightFiles = Effect.fnUntraced(function*(folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const exists = (name: string) => fs.exists(path.join(folder, name)).pipe(Effect.orElseSucceed(() => false))
  if (yield* exists(singleFile)) return [singleFile]
  if (!(yield* exists(indexFile))) {
    return yield* new ModelFolderError({ folder, detail: `has neither ${singleFile} nor ${indexFile}` })
  }
  const text = yield* readText(folder, indexFile)
  const index = yield* Schema.decodeUnknownEffect(ShardIndex)(text).pipe(
    Effect.mapError((error) => new ModelFolderError({ folder, detail: `${indexFile}: ${error.message}` }))
  )
  const names = Array.from(new Set(Object.values(index.weight_map)))
  if (names.length === 0) return yield* new ModelFolderError({ folder, detail: `${indexFile} names no file` })
  return names
})

type WeightsError = Safetensors.SafetensorsError | ModelFolderError

/** Opens all weight files as one reader. The scope closes them. */
const openWeights = Effect.fnUntraced(function*(folder: string) {
  const path = yield* Path.Path
  const names = yield* weightFiles(folder)
  const readers = yield* Effect.forEach(names, (name) => Safetensors.open(path.join(folder, name)))
  const has = (name: string) => readers.some(({ tensors }) => tensors.has(name))
  const find: ModelWeights.Find<WeightsError> = (name, shape) => {
    const reader = readers.find(({ tensors }) => tensors.has(name)) ?? readers[0]
    if (reader === undefined) return Effect.fail(new ModelFolderError({ folder, detail: "has no weights" }))
    return Effect.map(reader.find(name, shape), (info) => ({
      type: info.dtype,
      read: (offset, into) => reader.read(info, offset, into)
    }))
  }
  return { find, has }
})

const embedding = "model.embed_tokens.weight"
const head = "lm_head.weight"

/** The number of bytes to compare at a time. */
const compared = 1 << 22

const isEqual = Effect.fnUntraced(function*<E>(a: ModelWeights.FileTensor<E>, b: typeof a, bytes: number) {
  if (a.type !== b.type) return false
  for (let offset = 0; offset < bytes; offset += compared) {
    const size = Math.min(compared, bytes - offset)
    const [left, right] = [new Uint8Array(size), new Uint8Array(size)]
    yield* a.read(offset, left)
    yield* b.read(offset, right)
    if (Buffer.compare(left, right) !== 0) return false
  }
  return true
})

/** Fails if the folder stores a copy of a tied head that differs from the embedding. */
const checkTied = Effect.fnUntraced(function*(folder: string, config: ModelConfig) {
  const { find, has } = yield* openWeights(folder)
  if (!config.tiedEmbeddings || !has(head) || !has(embedding)) return
  const shape = [config.vocabularySize, config.hiddenSize]
  const [a, b] = [yield* find(embedding, shape), yield* find(head, shape)]
  const bytes = TensorType.bytesOf(a.type, config.vocabularySize * config.hiddenSize)
  if (yield* isEqual(a, b, bytes)) return
  return yield* new ModelFolderError({
    folder,
    detail: `${configFile} ties the embeddings, but ${head} differs from ${embedding}: ` +
      "set tie_word_embeddings to false to use both"
  })
}, Effect.scoped)

/** Reads the configuration and checks that the folder has every tensor of the model. `load` reads the weights. */
export const open = Effect.fn("ModelFolder.open")(function*(folder: string) {
  const path = yield* Path.Path
  const text = yield* readText(folder, configFile)
  const config = yield* ModelConfigFile.fromJson(path.join(folder, configFile), text)
  const { find } = yield* openWeights(folder)
  const storageOf = yield* ModelWeights.storage(config, find)
  return { folder, config, storageOf } satisfies ModelFolder
}, Effect.scoped)

/** Returns a function that finds the folder's tensors. The scope closes the files. */
export const finder = ({ folder }: ModelFolder) => Effect.map(openWeights(folder), ({ find }) => find)

/**
 * Reads all weights into `compute.weights`, which must be allocated for this folder's configuration and storage. Fails if a file was
 * truncated after `open`, or if a tied head differs from the embedding.
 */
export const load = Effect.fn("ModelFolder.load")(function*({ config, folder }: ModelFolder, compute: Compute) {
  yield* checkTied(folder, config)
  yield* ModelWeights.load((yield* openWeights(folder)).find, compute)
}, Effect.scoped)
