/** Training runs by the ids that clients know, with their tenants and the folders in which a backend keeps them. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as CheckpointRecords from "./CheckpointRecords.ts"
import { HttpRefusal } from "./HttpRefusal.ts"

const Run = Schema.Struct({
  /** The id that clients use. */
  id: Schema.String,
  /** The id that the backend uses: the folder of its checkpoints. */
  folder: Schema.String,
  /** The tenant whose run it is; a run of a server without keys has none. */
  tenant: Schema.optionalKey(Schema.String),
  /** The client's metadata of the run. */
  userMetadata: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
})
export type Run = typeof Run.Type

const File = Schema.fromJsonString(Run)

export interface Runs {
  /** Notes a new run; it is forgotten with the server unless it is kept. */
  readonly add: (run: Run) => void
  /** Notes that a run will save nothing more: of those without a checkpoint only the latest are remembered. */
  readonly end: (folder: string) => void
  /** Writes a run down before its first checkpoint, so that a restart knows it. */
  readonly keep: (folder: string) => Effect.Effect<void, HttpRefusal>
  /**
   * Forgets all but the latest of the ended runs that have lost their checkpoints. `clean` is called for the folder of each that is
   * forgotten, and not before: a backend may give the name of a folder that is gone to another run.
   */
  readonly forgetEmpty: (
    folders: ReadonlySet<string>,
    clean: (folder: string) => Effect.Effect<void, HttpRefusal>
  ) => Effect.Effect<void, HttpRefusal>
  /** Whether a run is written down: it had a checkpoint once. */
  readonly isKept: (folder: string) => boolean
  /** The run in a folder; one that no server noted is known by its folder and belongs to no tenant. */
  readonly inFolder: (folder: string) => Run
  /** The folder of a run, if any has this id. */
  readonly folderOf: (id: string) => string
}

/** Ended runs without a checkpoint that are remembered: a save of a model that has just ended may still be under way. */
const mostEnded = 1000

const unavailable = ({ message }: { readonly message: string }) => new HttpRefusal({ status: 500, detail: message })

/** Reads what earlier servers kept under `folder`. */
export const make = Effect.fnUntraced(function*(folder: string) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const byFolder = new Map<string, Run>()
  const byId = new Map<string, Run>()
  /** Ids by the folders in which they are written down. */
  const kept = new Map<string, string>()
  /** Runs that ended without a checkpoint, and those that had one, in the order in which they ended. */
  const ended = new Set<string>()
  const endedKept = new Set<string>()
  const fileOf = (of: string) => join(folder, of, "run.json")

  const forget = (of: string) => {
    byId.delete(byFolder.get(of)?.id ?? "")
    byFolder.delete(of)
    ended.delete(of)
    endedKept.delete(of)
  }

  /** A backend gives the folder of a run that ended without a checkpoint to another. */
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
