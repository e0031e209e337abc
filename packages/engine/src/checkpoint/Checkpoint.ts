/**
 * An adapter on disk in PEFT's format, `adapter_config.json` beside `adapter_model.safetensors`, and its optimizer in
 * `optimizer.safetensors`. PEFT keeps A as [rank, inputs] and B as [outputs, rank], the transposes of the engine's blocks.
 */
import * as FileFailure from "@effect-rl/files/file/FileFailure"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Adapter from "../model/Adapter.ts"
import type { ModelConfig } from "../model/ModelConfig.ts"
import * as Safetensors from "../numerics/Safetensors.ts"

/** The folder does not hold a checkpoint that this model can use, or cannot be read or written. */
export class CheckpointError extends Schema.TaggedError<CheckpointError>()("CheckpointError", {
  file: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${this.file}: ${this.detail}`
  }
}

/** Blocks of the adapter's parameter layout; `step` counts the updates made. */
export interface OptimizerState {
  readonly first: Float32Array
  readonly second: Float32Array
  readonly step: number
}

export interface Checkpoint {
  readonly layout: Adapter.AdapterLayout
  /** The name or path the base model is known by. */
  readonly baseModel: string
  readonly parameters: Float32Array
  readonly optimizer: OptimizerState | undefined
}

const configFile = "adapter_config.json"
const adapterFile = "adapter_model.safetensors"
const optimizerFile = "optimizer.safetensors"

const attentionModules = ["q_proj", "k_proj", "v_proj", "o_proj"]
const mlpModules = ["gate_proj", "up_proj", "down_proj"]
const headModule = "lm_head"

const PeftConfig = Schema.Struct({
  peft_type: Schema.Literal("LORA"),
  r: Schema.Int.check(Schema.isGreaterThan(0)),
  lora_alpha: Schema.Finite,
  target_modules: Schema.Array(Schema.String),
  base_model_name_or_path: Schema.NullOr(Schema.String),
  use_rslora: Schema.optionalKey(Schema.Literal(false))
})

const decodeConfig = Schema.decodeUnknownEffect(Schema.fromJsonString(PeftConfig))

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
    ...(hasModule(layout, "query") ? attentionModules : []),
    ...(hasModule(layout, "gate") ? mlpModules : []),
    ...(layout.head === undefined ? [] : [headModule])
  ]
})

/** One factor of an adapted matrix as a tensor: element (i, j) lies at `offset + i·rowStride + j·columnStride`. */
interface Factor {
  readonly name: string
  readonly shape: readonly [number, number]
  readonly offset: number
  readonly rowStride: number
  readonly columnStride: number
}

const factorsOf = (model: ModelConfig, layout: Adapter.AdapterLayout): ReadonlyArray<Factor> =>
  Adapter.namedTargets(model, layout).flatMap(({ outputs, path, target }): ReadonlyArray<Factor> => [
    {
      name: `base_model.model.${path}.lora_A.weight`,
      shape: [layout.rank, target.inputs],
      offset: target.a,
      rowStride: 1,
      columnStride: layout.paddedRank
    },
    {
      name: `base_model.model.${path}.lora_B.weight`,
      shape: [outputs, layout.rank],
      offset: target.b,
      rowStride: 1,
      columnStride: target.outputs
    }
  ])

/** The tensor's values, row by row, out of a block. */
const gather = ({ columnStride, offset, rowStride, shape: [rows, columns] }: Factor, block: Float32Array) => {
  const values = new Float32Array(rows * columns)
  let next = 0
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) values[next++] = block[offset + i * rowStride + j * columnStride] ?? 0
  }
  return values
}

/** Puts the tensor's values, row by row, into a block. */
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

/** Writes the files of a checkpoint into an existing folder. */
export const write = Effect.fn("Checkpoint.write")(function*(
  folder: string,
  model: ModelConfig,
  checkpoint: Checkpoint
) {
  const { join } = yield* Path.Path
  const { layout, optimizer, parameters } = checkpoint
  const factors = factorsOf(model, layout)
  const put = (name: string, content: Uint8Array) => {
    const file = join(folder, name)
    return writeFile(file, content).pipe(
      Effect.mapError((error) => new CheckpointError({ file: folder, detail: FileFailure.describe(file, error) }))
    )
  }
  const text = `${JSON.stringify(configOf(checkpoint), null, 2)}\n`
  yield* put(configFile, new TextEncoder().encode(text))
  const adapter = factors.map((factor) => toTensor(factor, parameters))
  yield* put(adapterFile, Safetensors.encode(adapter, { format: "pt" }))
  if (optimizer === undefined) return
  const moments = factors.flatMap((factor) => [
    toTensor(factor, optimizer.first, firstSuffix),
    toTensor(factor, optimizer.second, secondSuffix)
  ])
  yield* put(optimizerFile, Safetensors.encode(moments, { format: "pt", step: String(optimizer.step) }))
})

const readBlock = Effect.fnUntraced(function*(
  reader: Safetensors.Reader,
  factors: ReadonlyArray<Factor>,
  floats: number,
  suffix = ""
) {
  const block = new Float32Array(floats)
  for (const factor of factors) {
    const info = yield* reader.find(factor.name + suffix, factor.shape)
    if (info.dtype !== "F32") {
      const detail = `has type ${info.dtype}, expected F32`
      return yield* new Safetensors.SafetensorsError({ file: reader.file, tensor: info.name, detail })
    }
    const values = new Float32Array(info.bytes / 4)
    yield* reader.read(info, 0, new Uint8Array(values.buffer))
    scatter(factor, values, block)
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
  const first = yield* readBlock(reader, factors, floats, firstSuffix)
  const second = yield* readBlock(reader, factors, floats, secondSuffix)
  return { first, second, step } satisfies OptimizerState
}, Effect.scoped)

/** Which adapter a checkpoint holds, for which base model. */
export const readConfig = Effect.fn("Checkpoint.readConfig")(function*(folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const file = path.join(folder, configFile)
  const text = yield* fs.readFileString(file).pipe(Effect.mapError(fail(file)))
  const peft = yield* decodeConfig(text).pipe(Effect.mapError(fail(file)))
  const targets = new Set(peft.target_modules)
  const known = [...attentionModules, ...mlpModules, headModule]
  const unknown = peft.target_modules.find((module) => !known.includes(module))
  if (unknown !== undefined) {
    const detail = `target_modules has ${unknown}, expected only ${known.join(", ")}`
    return yield* new CheckpointError({ file, detail })
  }
  const config: Required<Adapter.AdapterConfig> = {
    rank: peft.r,
    alpha: peft.lora_alpha,
    trainAttention: attentionModules.some((module) => targets.has(module)),
    trainMlp: mlpModules.some((module) => targets.has(module)),
    trainUnembed: targets.has(headModule)
  }
  return { config, baseModel: peft.base_model_name_or_path ?? "" }
})

/**
 * Reads a checkpoint for a model. With `optimizer: true` the optimizer must be there as well.
 *
 * Fails where files are missing or corrupt, or their tensors do not fit the model.
 */
export const read = Effect.fn("Checkpoint.read")(function*(
  folder: string,
  model: ModelConfig,
  options: { readonly optimizer: boolean }
) {
  const path = yield* Path.Path
  const { baseModel, config } = yield* readConfig(folder)
  const layout = Adapter.layout(model, config)
  const factors = factorsOf(model, layout)
  const floats = layout.parameterFloats
  const parameters = yield* Safetensors.open(path.join(folder, adapterFile)).pipe(
    Effect.flatMap((reader) => readBlock(reader, factors, floats)),
    Effect.scoped
  )
  const optimizer = options.optimizer
    ? yield* readOptimizer(path.join(folder, optimizerFile), factors, floats)
    : undefined
  const checkpoint: Checkpoint = { layout, baseModel, parameters, optimizer }
  return checkpoint
})
