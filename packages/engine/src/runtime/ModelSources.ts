/** Models on disk: those that ship with this package, and folders in Hugging Face's layout. */
import { TinkerError } from "@effect-rl/core"
import { HuggingFaceTokenizer } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as ModelFolder from "../checkpoint/ModelFolder.ts"
import * as ModelWeights from "../checkpoint/ModelWeights.ts"
import * as Preset from "../Preset.ts"
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

/** The presets, then one model per folder, known by the path it was given as. */
export const make = Effect.fnUntraced(function*(folders: ReadonlyArray<string>) {
  const presets = yield* Effect.forEach(Preset.folders, ([name, url]) => tried(name, fromPreset(name, url)))
  const others = yield* Effect.forEach(folders, (folder) => tried(folder, fromFolder(folder, folder)))
  const all = [...presets, ...others]
  return {
    sources: all.filter(Result.isSuccess).map(({ success }) => success),
    refused: all.filter(Result.isFailure).map(({ failure }) => failure)
  } satisfies ModelSources
})
