/** Models on disk: those that ship with this package, and folders in Hugging Face's layout. */
import { TinkerError } from "@effect-rl/core"
import { HuggingFaceTokenizer } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import * as ModelFolder from "../checkpoint/ModelFolder.ts"
import * as Preset from "../Preset.ts"
import * as FileAccess from "./FileAccess.ts"
import type { ModelSource } from "./Library.ts"

const fromFolder = Effect.fnUntraced(function*(name: string, folder: string) {
  const context = yield* FileAccess.context
  const opened = yield* ModelFolder.open(folder)
  return {
    name,
    config: opened.config,
    scratchBytes: ModelFolder.scratchBytes(opened.config),
    tokenizer: HuggingFaceTokenizer.fromFolder(folder).pipe(Effect.provideContext(context)),
    fill: (compute) =>
      ModelFolder.load(opened, compute).pipe(
        Effect.mapError((error) => new TinkerError.Rejected({ detail: error.message })),
        Effect.provideContext(context)
      )
  } satisfies ModelSource
})

/** The presets, then one model per folder, known by the path it was given as. */
export const make = Effect.fnUntraced(function*(folders: ReadonlyArray<string>) {
  const path = yield* Path.Path
  const presets = yield* Effect.forEach(
    Preset.folders,
    ([name, url]) => Effect.flatMap(path.fromFileUrl(url), (folder) => fromFolder(name, folder))
  )
  const others = yield* Effect.forEach(folders, (folder) => fromFolder(folder, folder))
  return [...presets, ...others]
})
