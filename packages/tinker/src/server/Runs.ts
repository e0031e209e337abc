/** Training runs by client id, with their tenants and the folders where a backend stores them. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as CheckpointRecords from "./CheckpointRecords.ts"
import { HttpRefusal } from "./HttpRefusal.ts"

const Run = Schema.Struct({
  /** The id that clients use. */
  id: Schema.String,
  /** The backend's id, which is also the folder of the run's checkpoints. */
  folder: Schema.String,
  /** The tenant that owns the run; absent on a server without keys. */
  tenant: Schema.optionalKey(Schema.String),
  /** Metadata from the client. */
  userMetadata: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
})
export type Run = typeof Run.Type

const File = Schema.fromJsonString(Run)

export interface Runs {
  /** Registers a new run in memory; `keep` makes it persistent. */
  readonly add: (run: Run) => void
  /** Marks a run as ended. Only the latest ended runs without a checkpoint are remembered. */
  readonly end: (folder: string) => void
  /** Persists a run before its first checkpoint, so a restarted server knows it. */
  readonly keep: (folder: string) => Effect.Effect<void, HttpRefusal>
  /**
   * Forgets ended runs that lost all their checkpoints, except the latest. Calls `clean` with the folder of each forgotten run, never
   * earlier, because a backend may reuse the name of a removed folder for another run.
   */
  readonly forgetEmpty: (
    folders: ReadonlySet<string>,
    clean: (folder: string) => Effect.Effect<void, HttpRefusal>
  ) => Effect.Effect<void, HttpRefusal>
  /** Whether a run is persistent; if so, it had a checkpoint at some time. */
  readonly isKept: (folder: string) => boolean
  /** The run in a folder. An unregistered run has its folder as id, and no tenant. */
  readonly inFolder: (folder: string) => Run
  /**
   * The folder of the run with this id: the id itself for an unregistered run, and empty if the id is the folder of a run with another id.
   */
  readonly folderOf: (id: string) => string
}

/** How many ended runs without a checkpoint are remembered, because a save of a model that just ended may still be in progress. */
const mostEnded = 1000

const unavailable = ({ message }: { readonly message: string }) => new HttpRefusal({ status: 500, detail: message })

/** Loads the runs that earlier servers persisted under `folder`. */
export const make = Effect.fnUntraced(function*(folder: string) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const byFolder = new Map<string, Run>()
  const byId = new Map<string, Run>()
  /** Ids of persistent runs, by folder. */
  const kept = new Map<string, string>()
  /** Ended runs without a checkpoint (`ended`) and with one (`endedKept`), in the order in which they ended. */
  const ended = new Set<string>()
  const endedKept = new Set<string>()
  const fileOf = (of: string) => join(folder, of, "run.json")

  const forget = (of: string) => {
    byId.delete(byFolder.get(of)?.id ?? "")
    byFolder.delete(of)
    ended.delete(of)
    endedKept.delete(of)
  }

  /** Registers a run, replacing an earlier one: a backend reuses the folder of a run that ended without a checkpoint. */
  const add = (run: Run) => {
    forget(run.folder)
    byFolder.set(run.folder, run)
    byId.set(run.id, run)
  }

  const end = (of: string) => {
    if (kept.has(of)) {
      endedKept.add(of)
      return
    }
    ended.add(of)
    const [oldest = ""] = ended
    if (ended.size > mostEnded) forget(oldest)
  }

  const restore = (of: string) =>
    fs.readFileString(fileOf(of)).pipe(
      Effect.flatMap(Schema.decodeEffect(File)),
      Effect.map((run) => {
        add(run)
        kept.set(of, run.id)
        endedKept.add(of)
      }),
      Effect.catchReason("PlatformError", "NotFound", () => Effect.void),
      Effect.catch((error) => Effect.logWarning(`${fileOf(of)} is not read: ${error.message}`))
    )

  const folders = yield* Effect.orElseSucceed(CheckpointRecords.entries(folder), () => [])
  yield* Effect.forEach(folders, restore, { discard: true })

  const keep = Effect.fnUntraced(function*(of: string) {
    const run = byFolder.get(of)
    if (run === undefined) return
    if (kept.get(of) !== run.id) {
      yield* fs.makeDirectory(join(folder, of), { recursive: true })
      yield* fs.writeFileString(fileOf(of), yield* Schema.encodeEffect(File)(run))
      kept.set(of, run.id)
    }
    if (ended.delete(of)) endedKept.add(of)
  }, Effect.mapError(unavailable))

  const forgetEmpty = Effect.fnUntraced(function*(
    folders: ReadonlySet<string>,
    clean: (folder: string) => Effect.Effect<void, HttpRefusal>
  ) {
    const empty = Array.from(endedKept).filter((of) => folders.has(of))
    for (const of of empty.slice(0, -mostEnded)) {
      yield* Effect.mapError(fs.remove(join(folder, of), { recursive: true, force: true }), unavailable)
      kept.delete(of)
      forget(of)
      yield* clean(of)
    }
  })

  return {
    add,
    end,
    keep,
    forgetEmpty,
    isKept: (folder) => kept.has(folder),
    inFolder: (folder) => byFolder.get(folder) ?? { id: folder, folder },
    folderOf: (id) => byId.get(id)?.folder ?? (byFolder.has(id) ? "" : id)
  } satisfies Runs
})
