/** Models on disk: those that ship with this package, folders in Hugging Face's layout, and GGUF files. */
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
import * as Preset from "../Preset.ts"
import * as SmolLm2 from "../SmolLm2.ts"
import * as FileAccess from "./FileAccess.ts"
import type { ModelSource, RefusedModel } from "./Library.ts"

/** Models that can be loaded, and those that cannot with the reason. */
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
  } satisfies ModelSource
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
  } satisfies ModelSource
})

/** Refused with the command that fetches it where it has not been fetched. */
const smolLm2 = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const file = yield* SmolLm2.file
  if (yield* Effect.orElseSucceed(fs.exists(file), () => false)) return yield* fromFile(SmolLm2.name, file)
  const detail = `${file} is not there; get it with: ${yield* SmolLm2.command}`
  return yield* new TinkerError.Rejected({ detail })
})

const fromPath = (path: string) =>
  Effect.gen(function*() {
    if (path === SmolLm2.name) return yield* smolLm2
    return yield* path.endsWith(".gguf") ? fromFile(path, path) : fromFolder(path, path)
  })

const fromPreset = Effect.fnUntraced(function*(name: string, url: URL) {
  const path = yield* Path.Path
  return yield* fromFolder(name, yield* path.fromFileUrl(url))
})

/** One that cannot be used is logged and refused by name, and does not keep the others from being served. */
const tried = <E extends { readonly message: string }, R>(name: string, open: Effect.Effect<ModelSource, E, R>) =>
  open.pipe(
    Effect.mapError(({ message }): RefusedModel => ({ name, detail: message })),
    Effect.tapError(({ detail }) => Effect.logWarning(`the model "${name}" cannot be used: ${detail}`)),
    Effect.result
  )

/** The presets, then one model per folder or GGUF file, known by the path it was given as, and SmolLM2 by its name. */
export const make = Effect.fnUntraced(function*(paths: ReadonlyArray<string>) {
  const presets = yield* Effect.forEach(Preset.folders, ([name, url]) => tried(name, fromPreset(name, url)))
  const others = yield* Effect.forEach(paths, (path) => tried(path, fromPath(path)))
  const all = [...presets, ...others]
  return {
    sources: all.filter(Result.isSuccess).map(({ success }) => success),
    refused: all.filter(Result.isFailure).map(({ failure }) => failure)
  } satisfies ModelSources
})
