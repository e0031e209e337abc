/** A run's checkpoints in a PostgreSQL database. Checkpoints that this machine uses are copied to a local folder. */
import { RunStore, TinkerError } from "@effect-rl/core"
import { CheckpointStore, FileFailure } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import * as Semaphore from "effect/Semaphore"
import * as SqlClient from "effect/sql/SqlClient"
import { createHash, randomUUID } from "node:crypto"
import * as RunFence from "./RunFence.ts"
import * as RunTables from "./RunTables.ts"

/** Bytes of a file that are sent in one statement. */
const partBytes = 8_388_608

/** The most copies that stay in the folder. A copy is needed only until it is loaded; the newest may be loaded again. */
const mostCopies = 8

const sumOf = (bytes: Uint8Array | string) => createHash("sha256").update(bytes).digest("hex")

/** A file of a checkpoint: its name in the checkpoint's folder, and its checksum. */
interface File {
  readonly name: string
  readonly sum: string
}

interface Place {
  readonly sql: SqlClient.SqlClient
  readonly fs: FileSystem.FileSystem
  readonly join: Path.Path["join"]
  readonly run: string
  /** The folder of local copies. Each copy's name is the checksum of its files. */
  readonly copies: string
  /** The copies in the folder, in the order of their last use. */
  readonly recent: Set<string>
  /** Limits changes of the copies' folder to one at a time. */
  readonly permit: Semaphore.Semaphore
}

const unavailable =
  ({ copies, run }: Place) => <A, R>(effect: Effect.Effect<A, PlatformError | RunStore.RunError, R>) =>
    Effect.mapError(effect, (error) =>
      new TinkerError.Unavailable({
        detail: error._tag === "RunError" ? error.message : `${run}: ${FileFailure.describe(copies, error)}`
      }))

/**
 * The folder of a copy, named by a checksum. The checksum does not depend on the order of a file's keys, which jsonb
 * does not keep.
 */
const folderOf = ({ copies, join }: Place, files: ReadonlyArray<File>) =>
  join(copies, sumOf(JSON.stringify(files.map(({ name, sum }) => [name, sum]))))

/** Stores a file's content under its checksum. Parts that are already stored are not sent again. */
const send = Effect.fnUntraced(function*({ run, sql }: Place, bytes: Uint8Array) {
  const sum = sumOf(bytes)
  for (let part = 0; part === 0 || part * partBytes < bytes.length; part++) {
    const slice = bytes.subarray(part * partBytes, (part + 1) * partBytes)
    yield* RunTables.of(run)(
      sql`INSERT INTO effect_rl_files (sum, part, bytes) VALUES (${sum}, ${part}, ${slice}) ON CONFLICT DO NOTHING`
    )
  }
  return sum
})

const receive = Effect.fnUntraced(function*({ run, sql }: Place, { name, sum }: File) {
  const parts: Array<Uint8Array> = []
  for (let isWhole = false; !isWhole;) {
    const [row] = yield* RunTables.of(run)(
      sql<
        { readonly bytes: Uint8Array }
      >`SELECT bytes FROM effect_rl_files WHERE sum = ${sum} AND part = ${parts.length}`
    )
    if (row !== undefined) parts.push(row.bytes)
    isWhole = row === undefined || row.bytes.length < partBytes
  }
  const bytes = Buffer.concat(parts)
  if (sumOf(bytes) === sum) return bytes
  const detail = `${name} of a checkpoint was lost or changed after it was written; restore effect_rl_files from a copy`
  return yield* new RunStore.RunError({ run, detail })
})

/** A temporary folder for a download. It is removed when the scope closes, unless it was renamed. */
const makePartial = ({ copies, fs, join }: Place) =>
  Effect.acquireRelease(
    Effect.suspend(() => {
      const folder = join(copies, `.${randomUUID()}.partial`)
      return Effect.as(fs.makeDirectory(folder, { recursive: true }), folder)
    }),
    (folder) => Effect.ignore(fs.remove(folder, { recursive: true, force: true }))
  )

/** Notes that a copy is used, and removes the copies that have not been used for longest. */
const use = Effect.fnUntraced(function*({ fs, recent }: Place, folder: string) {
  recent.delete(folder)
  recent.add(folder)
  for (const old of Array.from(recent).slice(0, -mostCopies)) {
    recent.delete(old)
    yield* fs.remove(old, { recursive: true, force: true })
  }
  return folder
})

/** Renames a complete folder to the checksum of its files, unless that copy already exists. */
const keep = Effect.fnUntraced(function*(place: Place, partial: string, files: ReadonlyArray<File>) {
  const { fs } = place
  const folder = folderOf(place, files)
  if (!(yield* fs.exists(folder))) yield* fs.rename(partial, folder)
  return yield* use(place, folder)
})

const fetch = Effect.fnUntraced(
  function*(place: Place, files: ReadonlyArray<File>) {
    const { fs, join } = place
    const folder = folderOf(place, files)
    if (yield* fs.exists(folder)) return yield* use(place, folder)
    const partial = yield* makePartial(place)
    for (const file of files) yield* fs.writeFile(join(partial, file.name), yield* receive(place, file))
    return yield* keep(place, partial, files)
  },
  Effect.scoped,
  (effect, { permit }) => permit.withPermit(effect)
)

const find = Effect.fnUntraced(function*(place: Place, path: string) {
  const { run, sql } = place
  const [found] = yield* RunTables.of(run)(sql<{ readonly files: ReadonlyArray<File> }>`
    SELECT files FROM effect_rl_checkpoints WHERE run = ${run} AND path = ${path}`).pipe(unavailable(place))
  if (found !== undefined) return yield* unavailable(place)(fetch(place, found.files))
  const others = yield* RunTables.of(run)(sql<{ readonly path: string }>`
    SELECT path FROM effect_rl_checkpoints WHERE run = ${run} ORDER BY path LIMIT ${CheckpointStore.mostListed}`).pipe(
    unavailable(place)
  )
  return yield* new TinkerError.NotFound({ kind: "checkpoint", name: path, available: others.map(({ path }) => path) })
})

const placeOf = Effect.fnUntraced(function*(run: string, copies: string) {
  const { join } = yield* Path.Path
  const place: Place = {
    sql: yield* SqlClient.SqlClient,
    fs: yield* FileSystem.FileSystem,
    join,
    run,
    copies,
    recent: new Set(),
    permit: yield* Semaphore.make(1)
  }
  return place
})

const onlyRead = "only the process that writes the run saves checkpoints"

/**
 * The checkpoints of a run, for sampling. `copies` is the local folder for copies. Saving a checkpoint fails.
 *
 * @example
 * const engine = CheckpointDatabase.open("sums", "/tmp/copies").pipe(
 *   Effect.map((checkpoints) => Engine.layerOptions({ checkpoints })),
 *   Layer.unwrap
 * )
 */
export const open = Effect.fn("CheckpointDatabase.open")(function*(run: string, copies: string) {
  const place = yield* placeOf(run, copies)
  const store: CheckpointStore.CheckpointStore = {
    claim: () => Effect.fail(new TinkerError.Unavailable({ detail: onlyRead })),
    save: () => Effect.fail(new TinkerError.Rejected({ detail: onlyRead })),
    find: (path) => find(place, path)
  }
  return store
})

/**
 * The checkpoints of the run that this process has taken over, with paths that start with `scheme://`. Saving is atomic: a checkpoint is
 * stored with all of its files or not at all. Saving fails once another process has taken the run over.
 */
export const make = Effect.fn("CheckpointDatabase.make")(function*(copies: string, scheme: string) {
  const { epoch, run, write } = yield* RunFence.RunFence
  const place = yield* placeOf(run, copies)
  const { fs, join, sql } = place
  let claimed = 0

  const readFolder = Effect.fnUntraced(function*(folder: string) {
    const names = yield* fs.readDirectory(folder)
    return yield* Effect.forEach(names.toSorted(), (name) =>
      Effect.map(
        Effect.flatMap(fs.readFile(join(folder, name)), (bytes) => send(place, bytes)),
        (sum): File => ({ name, sum })
      ))
  })

  const save: CheckpointStore.CheckpointStore["save"] = Effect.fnUntraced(function*(modelId, kind, name, content) {
    yield* CheckpointStore.checkName(name)
    const partial = yield* unavailable(place)(makePartial(place))
    const digest = yield* content(partial)
    const files = yield* unavailable(place)(readFolder(partial))
    const path = `${scheme}://${modelId}/${kind}/${name}`
    yield* write(sql`written AS (
      INSERT INTO effect_rl_checkpoints (run, path, files)
      SELECT ${run}, ${path}, ${JSON.stringify(files)}::jsonb FROM fence
      ON CONFLICT (run, path) DO UPDATE SET files = EXCLUDED.files RETURNING 1
    )`).pipe(Effect.mapError(({ message }) => new TinkerError.Rejected({ detail: message })))
    yield* unavailable(place)(place.permit.withPermit(keep(place, partial, files)))
    return { path, digest }
  }, Effect.scoped)

  const store: CheckpointStore.CheckpointStore = {
    // No other process has this epoch, so the ids are unique.
    claim: (baseModel) => Effect.sync(() => `${CheckpointStore.slug(baseModel)}-${epoch}.${++claimed}`),
    save,
    find: (path) => find(place, path)
  }
  return store
})
