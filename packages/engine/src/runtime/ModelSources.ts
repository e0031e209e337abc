/** Opens models on disk: the shipped presets, Hugging Face folders, and GGUF files. */
import { TinkerError } from "@effect-rl/core"
import { HuggingFaceTokenizer } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as GgufModel from "../checkpoint/GgufModel.ts"
import * as GgufTokenizer from "../checkpoint/GgufTokenizer.ts"
import * as ModelFolder from "../checkpoint/ModelFolder.ts"
import * as ModelWeights from "../checkpoint/ModelWeights.ts"
import * as Weights from "../model/Weights.ts"
import * as Memory from "../numerics/Memory.ts"
import * as Preset from "../Preset.ts"
import * as SmolLm2 from "../SmolLm2.ts"
import * as FileAccess from "./FileAccess.ts"
import type { ModelSource, RefusedModel } from "./Library.ts"
import * as MemoryPlan from "./MemoryPlan.ts"

/** A model with a custom name. `place` is a folder, a GGUF file, `smollm2` or a preset. */
export interface NamedModel {
  readonly name: string
  readonly place: string
}

/** A model with its name, by default its place. */
export const named = (model: string | NamedModel): NamedModel =>
  typeof model === "string" ? { name: model, place: model } : model

/** An opened model whose share of the memory is not yet known. */
type OpenedModel = Omit<ModelSource, "shareBytes">

/** Models that can be loaded, and models that cannot, with the reason. */
export interface ModelSources {
  readonly sources: ReadonlyArray<ModelSource>
  readonly refused: ReadonlyArray<RefusedModel>
}

const rejected = (error: { readonly message: string }) => new TinkerError.Rejected({ detail: error.message })

const fromFolder = Effect.fnUntraced(function*(name: string, folder: string) {
  const context = yield* FileAccess.context
  const opened = yield* ModelFolder.open(folder)
  return {
    name,
    config: opened.config,
    storageOf: opened.storageOf,
    scratchBytes: ModelWeights.scratchBytes(opened.config),
    tokenizer: HuggingFaceTokenizer.fromFolder(folder).pipe(Effect.provideContext(context)),
    fill: (compute) => ModelFolder.load(opened, compute).pipe(Effect.mapError(rejected), Effect.provideContext(context))
  } satisfies OpenedModel
})

const fromFile = Effect.fnUntraced(function*(name: string, file: string) {
  const context = yield* FileAccess.context
  const opened = yield* GgufModel.open(file)
  return {
    name,
    config: opened.config,
    storageOf: opened.storageOf,
    scratchBytes: ModelWeights.scratchBytes(opened.config),
    tokenizer: GgufTokenizer.fromMetadata(file, opened.metadata),
    fill: (compute) => GgufModel.load(opened, compute).pipe(Effect.mapError(rejected), Effect.provideContext(context))
  } satisfies OpenedModel
})

/** Opens SmolLM2 from its file. If the file is missing, the failure names the command that installs it. */
const smolLm2 = Effect.fnUntraced(function*(name: string) {
  const fs = yield* FileSystem.FileSystem
  const file = yield* SmolLm2.file
  if (yield* Effect.orElseSucceed(fs.exists(file), () => false)) return yield* fromFile(name, file)
  const detail = `${file} does not exist; install it with: ${yield* SmolLm2.command}`
  return yield* new TinkerError.Rejected({ detail })
})

const fromPreset = Effect.fnUntraced(function*(name: string, url: URL) {
  const path = yield* Path.Path
  return yield* fromFolder(name, yield* path.fromFileUrl(url))
})

const fromPlace = ({ name, place }: NamedModel) =>
  Effect.gen(function*() {
    if (place === SmolLm2.name) return yield* smolLm2(name)
    const preset = Preset.folders.get(place)
    if (preset !== undefined) return yield* fromPreset(name, preset)
    return yield* place.endsWith(".gguf") ? fromFile(name, place) : fromFolder(name, place)
  })

/** Opens a model. A failure is logged and recorded by name, and the other models are still served. */
const tried = <E extends { readonly message: string }, R>(name: string, open: Effect.Effect<OpenedModel, E, R>) =>
  open.pipe(
    Effect.mapError(({ message }): RefusedModel => ({ name, detail: message })),
    Effect.tapError(({ detail }) => Effect.logWarning(`the model "${name}" cannot be used: ${detail}`)),
    Effect.result
  )

type Tried = ReadonlyArray<Result.Result<OpenedModel, RefusedModel>>

const opened = (all: Tried) => all.filter(Result.isSuccess).map(({ success }) => success)

/**
 * Sets each model's share of the memory. Presets get no fixed share: they fit into the memory that the other models
 * leave.
 */
const withShares = (presets: ReadonlyArray<OpenedModel>, others: ReadonlyArray<OpenedModel>) => {
  const shares = MemoryPlan.shares(
    others.map(({ config, storageOf }) => Weights.bytes(config, storageOf)),
    Memory.capacity
  )
  return [
    ...presets.map((model): ModelSource => ({ ...model, shareBytes: Memory.capacity })),
    ...others.map((model, index): ModelSource => ({ ...model, shareBytes: shares[index] ?? 0 }))
  ]
}

/** Opens the presets and the given models. */
export const make = Effect.fnUntraced(function*(models: ReadonlyArray<string | NamedModel>) {
  const presets = yield* Effect.forEach(Preset.folders, ([name, url]) => tried(name, fromPreset(name, url)))
  const others = yield* Effect.forEach(models.map(named), (model) => tried(model.name, fromPlace(model)))
  return {
    sources: withShares(opened(presets), opened(others)),
    refused: [...presets, ...others].filter(Result.isFailure).map(({ failure }) => failure)
  } satisfies ModelSources
})
