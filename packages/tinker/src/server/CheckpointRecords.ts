/** Persistent records next to checkpoint files, with their weights and expiration. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import type * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Wire from "../wire/SavedWeights.ts"
import * as ClientPaths from "./ClientPaths.ts"
import { HttpRefusal } from "./HttpRefusal.ts"

const Record = Schema.Struct({
  weights: Wire.WeightsInfo,
  savedMillis: Schema.Int,
  expiresMillis: Schema.optionalKey(Schema.Int),
  public: Schema.Boolean,
  userMetadata: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
})
export type Record = typeof Record.Type

const File = Schema.fromJsonString(Record)

export interface CheckpointRecords {
  readonly read: (place: ClientPaths.Place) => Effect.Effect<Option.Option<Record>, HttpRefusal>
  readonly write: (place: ClientPaths.Place, record: Record) => Effect.Effect<void, HttpRefusal>
  readonly remove: (place: ClientPaths.Place) => Effect.Effect<void, HttpRefusal>
  readonly runs: Effect.Effect<ReadonlyArray<string>, HttpRefusal>
  /** The checkpoint names under `<run>/<kind>`. */
  readonly names: (run: string, kind: string) => Effect.Effect<ReadonlyArray<string>, HttpRefusal>
}

const unavailable = ({ message }: { readonly message: string }) => new HttpRefusal({ status: 500, detail: message })

const suffix = ".json"

/** The names in a folder; empty if it does not exist. */
export const entries = Effect.fnUntraced(function*(folder: string) {
  const fs = yield* FileSystem.FileSystem
  return yield* fs.readDirectory(folder).pipe(
    Effect.map((names) => names.filter((name) => ClientPaths.segment.test(name))),
    Effect.catchReason("PlatformError", "NotFound", () => Effect.succeed([])),
    Effect.mapError(unavailable)
  )
})

/** Stores one record file per checkpoint under `folder`. */
export const make = Effect.fnUntraced(function*(folder: string) {
  const fs = yield* FileSystem.FileSystem
  const { dirname, join } = yield* Path.Path
  const file = ({ folder: of, id }: ClientPaths.Place) => `${join(folder, of, id)}${suffix}`
  const list = (folder: string) => Effect.provideService(entries(folder), FileSystem.FileSystem, fs)

  const write = Effect.fnUntraced(function*(place: ClientPaths.Place, record: Record) {
    const at = file(place)
    yield* fs.makeDirectory(dirname(at), { recursive: true })
    yield* fs.writeFileString(`${at}.new`, yield* Schema.encodeEffect(File)(record))
    yield* fs.rename(`${at}.new`, at)
  }, Effect.mapError(unavailable))

  return {
    read: (place) =>
      fs.readFileString(file(place)).pipe(
        Effect.flatMap(Schema.decodeUnknownEffect(File)),
        Effect.asSome,
        Effect.catchReason("PlatformError", "NotFound", () => Effect.succeedNone),
        Effect.mapError(unavailable)
      ),
    write,
    remove: (place) => Effect.mapError(fs.remove(file(place), { force: true }), unavailable),
    runs: list(folder),
    names: (run, kind) =>
      Effect.map(
        list(join(folder, run, kind)),
        (names) => names.filter((name) => name.endsWith(suffix)).map((name) => name.slice(0, -suffix.length))
      )
  } satisfies CheckpointRecords
})
