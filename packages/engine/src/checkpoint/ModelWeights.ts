/** Loads a model's weights from disk into the engine's memory, for any file format. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Compute } from "../model/Compute.ts"
import * as ModelConfig from "../model/ModelConfig.ts"
import * as Weights from "../model/Weights.ts"
import * as Memory from "../numerics/Memory.ts"
import * as TensorType from "../numerics/TensorType.ts"

/** The kernels cannot read the file's rows in their stored form. */
export class ModelWeightsError extends Schema.TaggedError<ModelWeightsError>()("ModelWeightsError", {
  tensor: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `tensor ${this.tensor}: ${this.detail}`
  }
}

/** A tensor in a file, read in byte ranges. */
export interface FileTensor<E> {
  readonly type: TensorType.TensorType
  /** Fills `into` with the tensor's bytes from `offset` on. */
  readonly read: (offset: number, into: Uint8Array) => Effect.Effect<void, E>
}

/** Finds a tensor by its Hugging Face name. Fails if the tensor is missing, has another shape, or has an unsupported type. */
export type Find<E> = (name: string, shape: ReadonlyArray<number>) => Effect.Effect<FileTensor<E>, E>

/** The Hugging Face names of all of a model's tensors. */
export const names = (config: ModelConfig.ModelConfig): ReadonlyArray<string> =>
  Weights.tensors(config).map(({ name }) => name)

/** Kernels read stored rows in blocks of this many values. */
const storedMultiple = 32

/**
 * Checks that a file has every tensor of a model and returns how the engine stores each tensor.
 * Fails if a tensor is missing, has another shape or type, or has rows that the kernels cannot read.
 */
export const storage = Effect.fnUntraced(function*<E>(config: ModelConfig.ModelConfig, find: Find<E>) {
  const types = new Map<string, TensorType.TensorType>()
  for (const { name, shape } of Weights.tensors(config)) types.set(name, (yield* find(name, shape)).type)
  const storageOf = Weights.storageFor(config, (name) => types.get(name) ?? "F32")
  for (const { name, shape: [, inputs] } of Weights.tensors(config)) {
    if (inputs !== undefined && storageOf(name) !== "panels" && inputs % storedMultiple !== 0) {
      const detail = `has rows of ${inputs} values, expected a multiple of ${storedMultiple} in a model of this size`
      return yield* new ModelWeightsError({ tensor: name, detail })
    }
  }
  return storageOf
})

/** The number of values to convert and pack at a time. */
const pieceFloats = 1 << 20

/** The scratch space that `load` needs for a model, in bytes. */
export const scratchBytes = (config: ModelConfig.ModelConfig): number => {
  const widest = Math.max(config.hiddenSize, config.feedForwardSize, ModelConfig.querySize(config))
  return 8 * Math.max(pieceFloats, 8 * widest) + 256
}

/** Reads rows as f32 to the start of the arena's free space, pads them with zeros, and returns their address. */
const readRows = Effect.fnUntraced(function*<E>(
  { arena, kernels, memory }: Compute,
  { read, type }: FileTensor<E>,
  offset: number,
  count: number,
  padded: number
) {
  const values = arena.allocate(padded)
  const bytes = TensorType.bytesOf(type, count)
  const raw = arena.allocate(Math.ceil(bytes / 4))
  yield* read(TensorType.bytesOf(type, offset), Memory.bytes(memory, raw, bytes))
  kernels.dequantize(values, raw, TensorType.idOf(type), count)
  Memory.floats(memory, values, padded).fill(0, count)
  return values
})

const packRows = Effect.fnUntraced(function*<E>(
  compute: Compute,
  tensor: FileTensor<E>,
  shape: Weights.Slot["shape"],
  { pack }: Weights.PackedSlot
) {
  const [rows, columns] = shape.length === 1 ? [1, shape[0]] : shape
  const pieceRows = Math.max(8, Math.floor(pieceFloats / columns / 8) * 8)
  for (let first = 0; first < rows; first += pieceRows) {
    const count = Math.min(pieceRows, rows - first)
    const mark = compute.arena.mark()
    const padded = Math.ceil(count / 8) * 8 * columns
    const place = yield* readRows(compute, tensor, first * columns, count * columns, padded)
    pack(compute.kernels, place, first, count)
    compute.arena.reset(mark)
  }
})

const storeRows = Effect.fnUntraced(function*<E>(
  { memory }: Compute,
  tensor: FileTensor<E>,
  shape: Weights.Slot["shape"],
  { padding, rows, type }: Weights.StoredSlot
) {
  const bytes = TensorType.bytesOf(type, shape.reduce((product: number, size) => product * size, 1))
  yield* tensor.read(0, Memory.bytes(memory, rows, bytes))
  Memory.bytes(memory, rows + bytes, padding).fill(0)
})

/** Reads all weights into `compute.weights`, which must be allocated for this model and its file's storage. */
export const load = Effect.fnUntraced(function*<E>(find: Find<E>, compute: Compute) {
  for (const { name, place, shape } of Weights.slots(compute.config, compute.weights)) {
    const tensor = yield* find(name, shape)
    yield* place._tag === "Stored"
      ? storeRows(compute, tensor, shape, place)
      : packRows(compute, tensor, shape, place)
  }
})
