/** A model as Hugging Face tools save it: a folder with `config.json`, safetensors files and a tokenizer. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import type { Compute } from "../model/Compute.ts"
import * as ModelConfig from "../model/ModelConfig.ts"
import * as Weights from "../model/Weights.ts"
import * as Memory from "../numerics/Memory.ts"
import * as Safetensors from "../numerics/Safetensors.ts"
import * as ModelConfigFile from "./ModelConfigFile.ts"

/** The folder lacks a file, or a file of it cannot be read. */
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
  readonly config: ModelConfig.ModelConfig
}

const configFile = "config.json"
const singleFile = "model.safetensors"
const indexFile = "model.safetensors.index.json"

/** Values converted and packed at once. */
const pieceFloats = 1 << 20

const readText = Effect.fnUntraced(function*(folder: string, name: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  return yield* fs.readFileString(path.join(folder, name)).pipe(
    Effect.mapError((error) => new ModelFolderError({ folder, detail: `${name} cannot be read: ${error.message}` }))
  )
})

/** Reads the configuration; the weights stay where they are until `load`. */
export const open = Effect.fn("ModelFolder.open")(function*(folder: string) {
  const path = yield* Path.Path
  const text = yield* readText(folder, configFile)
  const config = yield* ModelConfigFile.fromJson(path.join(folder, configFile), text)
  return { folder, config } satisfies ModelFolder
})

const ShardIndex = Schema.fromJsonString(Schema.Struct({ weight_map: Schema.Record(Schema.String, Schema.String) }))

/** Names of the files that hold the weights. */
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
  return Array.from(new Set(Object.values(index.weight_map)))
})

/** Reads rows of a tensor to the start of the arena's free space as f32 and returns where they are. */
const readRows = Effect.fnUntraced(function*(
  { arena, kernels, memory }: Compute,
  reader: Safetensors.Reader,
  info: Safetensors.TensorInfo,
  offset: number,
  count: number,
  padded: number
) {
  const values = arena.allocate(padded)
  const width = Safetensors.widthOf(info.dtype)
  const raw = info.dtype === "F32" ? values : arena.allocate(Math.ceil(count / 2))
  yield* reader.read(info, offset * width, Memory.bytes(memory, raw, count * width))
  if (info.dtype === "BF16") kernels.widenBf16(values, raw, count)
  if (info.dtype === "F16") kernels.widenF16(values, raw, count)
  Memory.floats(memory, values, padded).fill(0, count)
  return values
})

const loadSlot = Effect.fnUntraced(function*(
  compute: Compute,
  reader: Safetensors.Reader,
  info: Safetensors.TensorInfo,
  slot: Weights.Slot
) {
  const [rows, columns] = slot.shape.length === 1 ? [1, slot.shape[0]] : slot.shape
  const pieceRows = Math.max(8, Math.floor(pieceFloats / columns / 8) * 8)
  for (let first = 0; first < rows; first += pieceRows) {
    const count = Math.min(pieceRows, rows - first)
    const mark = compute.arena.mark()
    const padded = Math.ceil(count / 8) * 8 * columns
    const place = yield* readRows(compute, reader, info, first * columns, count * columns, padded)
    slot.pack(compute.kernels, place, first, count)
    compute.arena.reset(mark)
  }
})

/** Scratch that `load` needs for a model, in bytes. */
export const scratchBytes = (config: ModelConfig.ModelConfig): number => {
  const widest = Math.max(config.hiddenSize, config.feedForwardSize, ModelConfig.querySize(config))
  return 6 * Math.max(pieceFloats, 8 * widest) + 256
}

/**
 * Reads all weights into the packs of `compute.weights`, which were allocated for this folder's configuration.
 *
 * BF16, F16 and F32 files are read; a missing, misshapen or cut off tensor fails by name.
 */
export const load = Effect.fn("ModelFolder.load")(function*({ folder }: ModelFolder, compute: Compute) {
  const path = yield* Path.Path
  const names = yield* weightFiles(folder)
  const readers = yield* Effect.forEach(names, (name) => Safetensors.open(path.join(folder, name)))
  for (const slot of Weights.slots(compute.memory, compute.config, compute.weights)) {
    const reader = readers.find(({ tensors }) => tensors.has(slot.name)) ?? readers[0]
    if (reader === undefined) {
      return yield* new ModelFolderError({ folder, detail: `${indexFile} names no file` })
    }
    const info = yield* reader.find(slot.name, slot.shape)
    yield* loadSlot(compute, reader, info, slot)
  }
}, Effect.scoped)
