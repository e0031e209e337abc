/** The checkpoint files that the backend stores under one folder as `<run>/<kind>/<name>`. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import * as Schema from "effect/Schema"
import type * as Wire from "../wire/SavedWeights.ts"
import * as CheckpointRecords from "./CheckpointRecords.ts"
import type { Place } from "./ClientPaths.ts"
import { HttpRefusal } from "./HttpRefusal.ts"
import type * as Tar from "./Tar.ts"

export type File = Tar.File<PlatformError>

export interface CheckpointFiles {
  readonly runs: Effect.Effect<ReadonlyArray<string>, HttpRefusal>
  readonly names: (run: string, kind: string) => Effect.Effect<ReadonlyArray<string>, HttpRefusal>
  /** The files sorted by name; empty if the backend stores no files. */
  readonly list: (place: Place) => Effect.Effect<ReadonlyArray<File>, HttpRefusal>
  readonly move: (from: Place, to: Place) => Effect.Effect<void, HttpRefusal>
  readonly copy: (from: Place, to: Place) => Effect.Effect<void, HttpRefusal>
  readonly remove: (place: Place) => Effect.Effect<void, HttpRefusal>
  /** Removes a run's folder if it has no checkpoints and none is being written. */
  readonly removeEmptyRun: (run: string) => Effect.Effect<void, HttpRefusal>
  /** The weights described by the adapter's own configuration file. */
  readonly weights: (place: Place) => Effect.Effect<typeof Wire.WeightsInfo.Type, HttpRefusal>
}

/** The total size of the files in bytes. */
export const size = (files: ReadonlyArray<File>) => files.reduce((total, { size }) => total + size, 0)

const AdapterConfig = Schema.fromJsonString(Schema.Struct({
  base_model_name_or_path: Schema.String,
  r: Schema.Int,
  target_modules: Schema.Array(Schema.String)
}))

const unavailable = ({ message }: { readonly message: string }) => new HttpRefusal({ status: 500, detail: message })

export const make = Effect.fnUntraced(function*(folder: string) {
  const fs = yield* FileSystem.FileSystem
  const { dirname, join } = yield* Path.Path
  const entries = (folder: string) =>
    Effect.provideService(CheckpointRecords.entries(folder), FileSystem.FileSystem, fs)
  const folderOf = ({ folder: of, id }: Place) => join(folder, of, id)

  const describe = (folder: string) => (name: string) =>
    Effect.map(Effect.mapError(fs.stat(join(folder, name)), unavailable), ({ mtime, size }): File => ({
      name,
      size: Number(size),
      modifiedSeconds: Math.floor(Option.getOrElse(mtime, () => new Date(0)).getTime() / 1000),
      content: ({ end, start }) => fs.stream(join(folder, name), { offset: start, bytesToRead: end - start })
    }))

  const removeEmptyRun = Effect.fnUntraced(function*(run: string) {
    const at = join(folder, run)
    if (!(yield* fs.exists(at))) return
    const kinds = yield* fs.readDirectory(at)
    const inside = yield* Effect.forEach(kinds, (kind) => fs.readDirectory(join(at, kind)))
    if (inside.every((names) => names.length === 0)) yield* fs.remove(at, { recursive: true })
  }, Effect.mapError(unavailable))

  return {
    removeEmptyRun,
    runs: entries(folder),
    names: (run, kind) => entries(join(folder, run, kind)),
    list: (place) =>
      Effect.flatMap(
        entries(folderOf(place)),
        (names) => Effect.forEach([...names].sort(), describe(folderOf(place)))
      ),
    move: (from, to) =>
      fs.makeDirectory(dirname(folderOf(to)), { recursive: true }).pipe(
        Effect.andThen(fs.rename(folderOf(from), folderOf(to))),
        Effect.mapError(unavailable)
      ),
    copy: (from, to) =>
      fs.makeDirectory(dirname(folderOf(to)), { recursive: true }).pipe(
        Effect.andThen(fs.copy(folderOf(from), `${folderOf(to)}.new`)),
        Effect.andThen(fs.rename(`${folderOf(to)}.new`, folderOf(to))),
        Effect.mapError(unavailable)
      ),
    remove: (place) => Effect.mapError(fs.remove(folderOf(place), { recursive: true, force: true }), unavailable),
    weights: (place) =>
      fs.readFileString(join(folderOf(place), "adapter_config.json")).pipe(
        Effect.flatMap(Schema.decodeUnknownEffect(AdapterConfig)),
        Effect.map((config) => ({
          base_model: config.base_model_name_or_path,
          is_lora: true,
          lora_rank: config.r,
          train_attn: config.target_modules.includes("q_proj"),
          train_mlp: config.target_modules.includes("gate_proj"),
          train_unembed: config.target_modules.includes("lm_head")
        })),
        Effect.mapError(unavailable)
      )
  } satisfies CheckpointFiles
})
