/**
 * An adapter on disk in PEFT's format, `adapter_config.json` and `adapter_model.safetensors`, with its optimizer state in
 * `optimizer.safetensors`. PEFT stores A as [rank, inputs] and B as [outputs, rank], the transposes of the engine's blocks.
 */
import * as FileFailure from "@effect-rl/files/file/FileFailure"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Adapter from "../model/Adapter.ts"
import type { ModelConfig } from "../model/ModelConfig.ts"
import * as Safetensors from "../numerics/Safetensors.ts"
import { CheckpointError } from "./CheckpointError.ts"
import * as Checksums from "./Checksums.ts"
import * as PeftConfig from "./PeftConfig.ts"

export { CheckpointError }

/** Adam's moments in the layout of the adapter's parameters; `step` counts the updates. */
export interface OptimizerState {
  readonly first: Float32Array
  readonly second: Float32Array
  readonly step: number
}

export interface Checkpoint {
  readonly layout: Adapter.AdapterLayout
  /** The base model's name or path; empty if the checkpoint names none. */
  readonly baseModel: string
  readonly parameters: Float32Array
  readonly optimizer: OptimizerState | undefined
}

const configFile = "adapter_config.json"
const adapterFile = "adapter_model.safetensors"
const optimizerFile = "optimizer.safetensors"

const fail = (file: string) => (error: { readonly message: string }) =>
  new CheckpointError({ file, detail: error.message })

const hasModule = (layout: Adapter.AdapterLayout, name: "query" | "gate"): boolean =>
  layout.layers[0]?.[name] !== undefined

const configOf = ({ baseModel, layout }: Checkpoint): object => ({
  peft_type: "LORA",
  task_type: "CAUSAL_LM",
  base_model_name_or_path: baseModel,
  r: layout.rank,
  lora_alpha: layout.alpha,
  lora_dropout: 0,
  bias: "none",
  fan_in_fan_out: false,
  inference_mode: true,
  use_rslora: false,
  target_modules: [
    ...(hasModule(layout, "query") ? PeftConfig.attentionModules : []),
    ...(hasModule(layout, "gate") ? PeftConfig.mlpModules : []),
    ...(layout.head === undefined ? [] : [PeftConfig.headModule])
  ]
})

/** One factor of an adapted matrix as a tensor: element (i, j) lies at `offset + i·rowStride + j·columnStride`. */
interface Factor {
  readonly name: string
  /** The module's name in PEFT, such as `q_proj`. */
  readonly module: string
  readonly shape: readonly [number, number]
  readonly offset: number
  readonly rowStride: number
  readonly columnStride: number
}

const factorsOf = (model: ModelConfig, layout: Adapter.AdapterLayout): ReadonlyArray<Factor> =>
  Adapter.namedTargets(model, layout).flatMap(({ outputs, path, target }): ReadonlyArray<Factor> => [
    {
      name: `base_model.model.${path}.lora_A.weight`,
      module: path.slice(path.lastIndexOf(".") + 1),
      shape: [layout.rank, target.inputs],
      offset: target.a,
      rowStride: 1,
      columnStride: layout.paddedRank
    },
    {
      name: `base_model.model.${path}.lora_B.weight`,
      module: path.slice(path.lastIndexOf(".") + 1),
      shape: [outputs, layout.rank],
      offset: target.b,
      rowStride: 1,
      columnStride: target.outputs
    }
  ])

/** Copies the tensor's values from a block, row by row. */
const gather = ({ columnStride, offset, rowStride, shape: [rows, columns] }: Factor, block: Float32Array) => {
  const values = new Float32Array(rows * columns)
  let next = 0
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) values[next++] = block[offset + i * rowStride + j * columnStride] ?? 0
  }
  return values
}

/** Copies the tensor's values into a block, row by row. */
const scatter = (
  { columnStride, offset, rowStride, shape: [rows, columns] }: Factor,
  values: Float32Array,
  block: Float32Array
): void => {
  let next = 0
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) block[offset + i * rowStride + j * columnStride] = values[next++] ?? 0
  }
}

const toTensor = (factor: Factor, block: Float32Array, suffix = ""): Safetensors.Tensor => {
  const data = new Uint8Array(gather(factor, block).buffer)
  return { name: factor.name + suffix, dtype: "F32", shape: factor.shape, data }
}

const firstSuffix = ".exp_avg"
const secondSuffix = ".exp_avg_sq"

const writeFile = Effect.fnUntraced(function*(file: string, content: Uint8Array) {
  const fs = yield* FileSystem.FileSystem
  const handle = yield* fs.open(file, { flag: "w" })
  yield* handle.writeAll(content)
  yield* handle.sync
}, Effect.scoped)

const encoder = new TextEncoder()

const contentsOf = (model: ModelConfig, checkpoint: Checkpoint): ReadonlyArray<Checksums.Content> => {
  const { layout, optimizer, parameters } = checkpoint
  const factors = factorsOf(model, layout)
  const adapter = factors.map((factor) => toTensor(factor, parameters))
  const weights: ReadonlyArray<Checksums.Content> = [
    [configFile, encoder.encode(`${JSON.stringify(configOf(checkpoint), null, 2)}\n`)],
    [adapterFile, Safetensors.encode(adapter, { format: "pt" })]
  ]
  if (optimizer === undefined) return weights
  const moments = factors.flatMap((factor) => [
    toTensor(factor, optimizer.first, firstSuffix),
    toTensor(factor, optimizer.second, secondSuffix)
  ])
  return [...weights, [optimizerFile, Safetensors.encode(moments, { format: "pt", step: String(optimizer.step) })]]
}

/** Writes a checkpoint's files and their checksums into an existing folder. Returns the checkpoint's digest. */
export const write = Effect.fn("Checkpoint.write")(function*(
  folder: string,
  model: ModelConfig,
  checkpoint: Checkpoint
) {
  const { join } = yield* Path.Path
  const contents = contentsOf(model, checkpoint)
  const sums = encoder.encode(Checksums.lines(contents))
  const files: ReadonlyArray<Checksums.Content> = [...contents, [Checksums.file, sums]]
  for (const [name, content] of files) {
    const file = join(folder, name)
    yield* writeFile(file, content).pipe(
      Effect.mapError((error) => new CheckpointError({ file: folder, detail: FileFailure.describe(file, error) }))
    )
  }
  return Checksums.digestOf(sums)
})

/** A tensor's values as f32, from any supported type. */
const widen = (dtype: Safetensors.DType, bytes: Uint8Array): Float32Array => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const count = bytes.length / Safetensors.widthOf(dtype)
  switch (dtype) {
    case "F32":
      return Float32Array.from({ length: count }, (_, i) => view.getFloat32(4 * i, true))
    case "F16":
      return Float32Array.from({ length: count }, (_, i) => halfToFloat(view.getUint16(2 * i, true)))
    case "BF16": {
      const bits = Uint32Array.from({ length: count }, (_, i) => view.getUint16(2 * i, true) << 16)
      return new Float32Array(bits.buffer)
    }
  }
}

const halfToFloat = (bits: number): number => {
  const sign = bits & 0x8000 ? -1 : 1
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023]
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1024 + fraction) * 2 ** (exponent - 25)
}

/** Fails if the file has a tensor that is not among the factors: ignoring it would change the adapter's results. */
const checkNothingLeft = (
  reader: Safetensors.Reader,
  factors: ReadonlyArray<Factor>,
  suffixes: ReadonlyArray<string>
) => {
  const known = new Set(factors.flatMap(({ name }) => suffixes.map((suffix) => name + suffix)))
  const left = Array.from(reader.tensors.keys()).find((name) => !known.has(name))
  if (left === undefined) return Effect.void
  const detail = "is not part of a LoRA adapter that the engine supports for this model"
  return Effect.fail(new Safetensors.SafetensorsError({ file: reader.file, tensor: left, detail }))
}

const readBlock = Effect.fnUntraced(function*(
  reader: Safetensors.Reader,
  factors: ReadonlyArray<Factor>,
  floats: number,
  suffix = ""
) {
  const block = new Float32Array(floats)
  for (const factor of factors) {
    const info = yield* reader.find(factor.name + suffix, factor.shape)
    const bytes = new Uint8Array(info.bytes)
    yield* reader.read(info, 0, bytes)
    scatter(factor, widen(info.dtype, bytes), block)
  }
  return block
})

const readOptimizer = Effect.fnUntraced(function*(file: string, factors: ReadonlyArray<Factor>, floats: number) {
  const reader = yield* Safetensors.open(file)
  const step = Number(reader.metadata.step)
  if (!Number.isSafeInteger(step) || step < 0) {
    const detail = `step is ${reader.metadata.step}, expected a whole number from 0`
    return yield* new Safetensors.SafetensorsError({ file, detail })
  }
  yield* checkNothingLeft(reader, factors, [firstSuffix, secondSuffix])
  const first = yield* readBlock(reader, factors, floats, firstSuffix)
  const second = yield* readBlock(reader, factors, floats, secondSuffix)
  return { first, second, step } satisfies OptimizerState
}, Effect.scoped)

const readPeftConfig = Effect.fnUntraced(function*(folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const file = path.join(folder, configFile)
  const text = yield* fs.readFileString(file).pipe(Effect.mapError(fail(file)))
  return yield* PeftConfig.fromJson(file, text)
})

const adapterConfig = (peft: PeftConfig.PeftConfig): Required<Adapter.AdapterConfig> => {
  const has = (modules: ReadonlyArray<string>) => modules.some((module) => peft.target_modules.includes(module))
  return {
    rank: peft.r,
    alpha: peft.lora_alpha,
    trainAttention: has(PeftConfig.attentionModules),
    trainMlp: has(PeftConfig.mlpModules),
    trainUnembed: has([PeftConfig.headModule])
  }
}

/** Reads a checkpoint's adapter configuration and its base model's name, which is empty if the checkpoint names none. */
export const readConfig = Effect.fn("Checkpoint.readConfig")(function*(folder: string) {
  const peft = yield* readPeftConfig(folder)
  return { config: adapterConfig(peft), baseModel: peft.base_model_name_or_path ?? "" }
})

/**
 * Reads a checkpoint for a model. `optimizer: true` requires the optimizer state. If `digest` is given, it must equal the checkpoint's
 * digest. If an adapter from another tool leaves out attention or feed-forward modules, their factors are zero and stay zero in training,
 * so they change nothing. Fails with `CheckpointError` if the configuration is missing or unsupported or a file was changed since it was
 * saved, and with `SafetensorsError` if a tensor file is missing or corrupt or its tensors do not fit the adapter and the model.
 */
export const read = Effect.fn("Checkpoint.read")(function*(
  folder: string,
  model: ModelConfig,
  { digest, optimizer: withOptimizer }: { readonly optimizer: boolean; readonly digest?: string | undefined }
) {
  const path = yield* Path.Path
  const peft = yield* readPeftConfig(folder)
  const layout = Adapter.layout(model, adapterConfig(peft))
  const factors = factorsOf(model, layout).filter(({ module }) => peft.target_modules.includes(module))
  const floats = layout.parameterFloats
  const parameters = yield* Safetensors.open(path.join(folder, adapterFile)).pipe(
    Effect.tap((reader) => checkNothingLeft(reader, factors, [""])),
    Effect.flatMap((reader) => readBlock(reader, factors, floats)),
    Effect.scoped
  )
  const optimizer = withOptimizer
    ? yield* readOptimizer(path.join(folder, optimizerFile), factors, floats)
    : undefined
  yield* Checksums.check(folder, [configFile, adapterFile, ...(withOptimizer ? [optimizerFile] : [])], digest)
  const baseModel = peft.base_model_name_or_path ?? ""
  const checkpoint: Checkpoint = { layout, baseModel, parameters, optimizer }
  return checkpoint
})
