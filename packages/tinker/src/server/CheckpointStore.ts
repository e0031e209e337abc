/** The backend's checkpoints as clients see them, with operations to list, describe, publish, expire and remove them. */
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Schedule from "effect/Schedule"
import * as Struct from "effect/Struct"
import type * as Administration from "../wire/Administration.ts"
import type * as Wire from "../wire/SavedWeights.ts"
import { Caller } from "./Caller.ts"
import * as CheckpointFiles from "./CheckpointFiles.ts"
import * as CheckpointRecords from "./CheckpointRecords.ts"
import * as ClientPaths from "./ClientPaths.ts"
import { badRequest, HttpRefusal, notFound } from "./HttpRefusal.ts"
import * as Runs from "./Runs.ts"

export interface CheckpointOptions {
  /** The folder where the backend stores its checkpoints. */
  readonly folder: string
  /** The scheme of the backend's own checkpoint paths, the part before `://`. */
  readonly scheme: string
  /** Lifetime of checkpoints for which the client gives none. Default: unlimited. */
  readonly ttl?: Duration.Input
  /** Aliases for checkpoints: maps further names that clients may use, such as `runs/x`, to paths `tinker://<folder>/<kind>/<name>`. */
  readonly names?: ClientPaths.Names
}

type Place = ClientPaths.Place
type WeightsInfo = typeof Wire.WeightsInfo.Type
export type Checkpoint = typeof Administration.Checkpoint.Encoded

export interface CheckpointStore {
  readonly paths: ClientPaths.Paths
  readonly names: ClientPaths.Names
  readonly runs: Runs.Runs
  /** The folders of the runs that the caller may see. */
  readonly folders: Effect.Effect<ReadonlyArray<string>, HttpRefusal, Caller>
  /** Whether the caller may see the run in this folder. */
  readonly isVisible: (folder: string) => Effect.Effect<boolean, never, Caller>
  /** The checkpoints of the run in this folder, newest first. */
  readonly list: (folder: string) => Effect.Effect<ReadonlyArray<Checkpoint>, HttpRefusal>
  /** Finds the checkpoint at a path if it belongs to the caller, has no owner or is public. */
  readonly readable: (path: string) => Effect.Effect<Place, HttpRefusal, Caller>
  /** Finds the checkpoint at a path. Fails unless it belongs to the caller or the server has no keys. */
  readonly own: (path: string) => Effect.Effect<Place, HttpRefusal, Caller>
  readonly exists: (place: Place) => Effect.Effect<boolean, HttpRefusal>
  readonly files: (place: Place) => Effect.Effect<ReadonlyArray<CheckpointFiles.File>, HttpRefusal>
  readonly weights: (place: Place) => Effect.Effect<WeightsInfo, HttpRefusal>
  /** Records a checkpoint that the backend has just saved, with its expiration. The checkpoint's run must be recorded already. */
  readonly saved: (place: Place, weights: WeightsInfo, options?: SavedOptions) => Effect.Effect<void, HttpRefusal>
  /** Moves the files to another place. Fails if there are none, or if the place already has some. */
  readonly move: (from: Place, to: Place) => Effect.Effect<void, HttpRefusal>
  /** Copies the files to a new run. Fails if there are none. */
  readonly copy: (from: Place, to: Place, options: SavedOptions) => Effect.Effect<void, HttpRefusal>
  readonly setTtl: (place: Place, seconds: number | null) => Effect.Effect<void, HttpRefusal>
  readonly setPublic: (place: Place, isPublic: boolean) => Effect.Effect<void, HttpRefusal>
  readonly remove: (place: Place) => Effect.Effect<void, HttpRefusal>
}

export interface SavedOptions {
  readonly ttlSeconds?: number | undefined
  readonly userMetadata?: Readonly<Record<string, string>> | undefined
}

const kinds = [["weights", "training"], ["sampler_weights", "sampler"], ["external_weights", "external"]] as const

interface Found {
  readonly record: Option.Option<CheckpointRecords.Record>
  readonly files: ReadonlyArray<CheckpointFiles.File>
}

const savedMillis = ({ files, record }: Found) =>
  Option.match(record, {
    onSome: ({ savedMillis }) => savedMillis,
    onNone: () => 1000 * files.reduce((latest, { modifiedSeconds }) => Math.max(latest, modifiedSeconds), 0)
  })

/** The largest valid JavaScript timestamp in milliseconds. */
const endOfTime = 8.64e15

const iso = (millis: number) => new Date(Math.min(millis, endOfTime)).toISOString()

const toWire = (
  place: Place,
  type: Checkpoint["checkpoint_type"],
  found: Found,
  { format }: ClientPaths.Paths
): Checkpoint => {
  const { expiresMillis, public: isPublic = false, userMetadata } = Option.getOrUndefined(found.record) ?? {}
  return {
    checkpoint_id: place.id,
    checkpoint_type: type,
    time: iso(savedMillis(found)),
    tinker_path: format(place),
    size_bytes: CheckpointFiles.size(found.files),
    public: isPublic,
    ...(expiresMillis === undefined ? {} : { expires_at: iso(expiresMillis) }),
    ...(userMetadata === undefined ? {} : { user_metadata: userMetadata })
  }
}

/** The total file size of checkpoints in bytes. */
export const storedBytes = (checkpoints: ReadonlyArray<Checkpoint>) =>
  checkpoints.reduce((total, { size_bytes }) => total + (size_bytes ?? 0), 0)

const newestFirst = (checkpoints: ReadonlyArray<Checkpoint>) =>
  [...checkpoints].sort((left, right) => right.time.localeCompare(left.time))

/**
 * Creates the store. Once a minute until its scope closes, it removes expired checkpoints and forgets old runs without
 * checkpoints.
 */
export const make = Effect.fnUntraced(function*({ folder, names = new Map(), scheme, ttl }: CheckpointOptions) {
  const { join } = yield* Path.Path
  const files = yield* CheckpointFiles.make(folder)
  const records = yield* CheckpointRecords.make(join(folder, ".tinker"))
  const runs = yield* Runs.make(join(folder, ".tinker"))
  const paths = ClientPaths.make(scheme, runs, names)
  const usualMillis = ttl === undefined ? undefined : Duration.toMillis(Duration.fromInputUnsafe(ttl))

  const find = Effect.fnUntraced(function*(place: Place) {
    const missing = notFound("checkpoint", paths.format(place))
    if (!ClientPaths.isOurs(place)) return yield* missing
    const found: Found = { record: yield* records.read(place), files: yield* files.list(place) }
    const now = yield* Clock.currentTimeMillis
    const isThere = Option.match(found.record, {
      onSome: ({ expiresMillis = Infinity }) => expiresMillis > now,
      onNone: () => found.files.length > 0
    })
    return isThere ? found : yield* missing
  })

  const leftOut = new Set<string>()

  /** Omits a foreign file or a damaged record from the listing, and logs one warning about it. */
  const leaveOut = (what: string) => ({ message, status }: HttpRefusal) =>
    Effect.suspend(() => {
      if (status === 404 || leftOut.has(what)) return Effect.void
      leftOut.add(what)
      return Effect.logWarning(`${what} is not a checkpoint that can be read, and is left out: ${message}`)
    })

  const weightsOf = (place: Place, { record }: Found) =>
    Option.match(record, { onSome: ({ weights }) => Effect.succeed(weights), onNone: () => files.weights(place) })

  const change = Effect.fnUntraced(function*(
    place: Place,
    edit: (record: CheckpointRecords.Record) => CheckpointRecords.Record
  ) {
    const found = yield* find(place)
    const weights = yield* weightsOf(place, found)
    const record = Option.getOrElse(found.record, () => ({ weights, savedMillis: savedMillis(found), public: false }))
    yield* records.write(place, edit(record))
  })

  const expiring = (record: CheckpointRecords.Record, millis: number | undefined, now: number) => ({
    ...Struct.omit(record, ["expiresMillis"]),
    ...(millis === undefined ? {} : { expiresMillis: now + Math.round(millis) })
  })

  const allFolders = Effect.map(
    Effect.all([files.runs, records.runs]),
    ([left, right]) => Arr.dedupe([...left, ...right])
  )

  const places = Effect.fnUntraced(function*(folder: string) {
    const of = ([kind, type]: typeof kinds[number]) =>
      Effect.map(
        Effect.all([files.names(folder, kind), records.names(folder, kind)]),
        ([left, right]) => Arr.dedupe([...left, ...right]).map((name) => ({ folder, id: `${kind}/${name}`, type }))
      )
    if (!ClientPaths.segment.test(folder)) return []
    const found = yield* Effect.catch(Effect.forEach(kinds, of), (refusal) => Effect.as(leaveOut(folder)(refusal), []))
    return found.flat()
  })

  /** A server without keys shows every run, and a run without a tenant is visible to everyone. */
  const isVisible: CheckpointStore["isVisible"] = (folder) =>
    Effect.map(Caller, ({ tenant }) => {
      const owner = runs.inFolder(folder).tenant
      return tenant === undefined || owner === undefined || owner === tenant
    })

  /** Checkpoints that the caller may not see are reported as not found. */
  const readable: CheckpointStore["readable"] = Effect.fnUntraced(function*(path) {
    const place = yield* paths.parse(path)
    const { record } = yield* find(place)
    const isPublic = Option.match(record, { onNone: () => false, onSome: (record) => record.public })
    return isPublic || (yield* isVisible(place.folder)) ? place : yield* notFound("checkpoint", path)
  })

  const own: CheckpointStore["own"] = Effect.fnUntraced(function*(path) {
    const place = yield* readable(path)
    const { tenant } = yield* Caller
    return tenant === undefined || runs.inFolder(place.folder).tenant === tenant
      ? place
      : yield* new HttpRefusal({ status: 403, detail: `the checkpoint "${path}" is not yours to change` })
  })

  const list: CheckpointStore["list"] = Effect.fnUntraced(function*(folder) {
    const found = yield* Effect.forEach(yield* places(folder), (place) =>
      find(place).pipe(
        Effect.map((found) => [toWire(place, place.type, found, paths)]),
        Effect.catch((refusal) => Effect.as(leaveOut(paths.format(place))(refusal), []))
      ))
    return newestFirst(found.flat())
  })

  const erase = (place: Place) => Effect.andThen(files.remove(place), records.remove(place))

  const eraseExpired = Effect.fnUntraced(function*(place: Place) {
    const record = yield* records.read(place)
    const now = yield* Clock.currentTimeMillis
    if (Option.isNone(record) || (record.value.expiresMillis ?? Infinity) > now) return
    yield* erase(place)
    yield* Effect.logInfo(`${paths.format(place)} expired and was removed`)
  })

  const eraseIfExpired = (place: Place) => Effect.catch(eraseExpired(place), leaveOut(paths.format(place)))

  const tidy = Effect.gen(function*() {
    const empty = new Set<string>()
    for (const folder of yield* allFolders) {
      const found = yield* places(folder)
      yield* Effect.forEach(found, eraseIfExpired)
      if (found.length === 0) empty.add(folder)
    }
    yield* runs.forgetEmpty(empty, files.removeEmptyRun)
  })

  yield* tidy.pipe(
    Effect.catch((refusal) => Effect.logWarning(`expired checkpoints were not removed: ${refusal.message}`)),
    Effect.repeat(Schedule.spaced("1 minute")),
    Effect.forkScoped
  )

  const saved: CheckpointStore["saved"] = Effect.fnUntraced(
    function*(place, weights, { ttlSeconds, userMetadata } = {}) {
      const now = yield* Clock.currentTimeMillis
      const millis = ttlSeconds === undefined ? usualMillis : ttlSeconds * 1000
      const described = {
        weights,
        savedMillis: now,
        public: false,
        ...(userMetadata === undefined ? {} : { userMetadata })
      }
      yield* records.write(place, expiring(described, millis, now))
    }
  )

  return {
    paths,
    names,
    runs,
    folders: Effect.flatMap(allFolders, Effect.filter(isVisible)),
    isVisible,
    list,
    readable,
    own,
    exists: (place) => Effect.isSuccess(find(place)),
    files: (place) => Effect.map(find(place), ({ files }) => files),
    weights: (place) => Effect.flatMap(find(place), (found) => weightsOf(place, found)),
    saved,
    move: Effect.fnUntraced(function*(from, to) {
      if (!ClientPaths.isOurs(to) || (yield* Effect.isSuccess(find(to)))) {
        return yield* badRequest(`the checkpoint "${to.id}" already exists, or is not a valid name`)
      }
      yield* files.move(from, to)
    }),
    copy: Effect.fnUntraced(function*(from, to, options) {
      const found = yield* find(from)
      if (found.files.length === 0) return yield* badRequest(`${paths.format(from)} has no files to copy`)
      yield* runs.keep(to.folder)
      yield* files.copy(from, to)
      yield* saved(to, yield* weightsOf(from, found), options)
    }),
    setTtl: (place, seconds) =>
      Effect.flatMap(
        Clock.currentTimeMillis,
        (now) => change(place, (record) => expiring(record, seconds === null ? undefined : seconds * 1000, now))
      ),
    setPublic: (place, isPublic) => change(place, (record) => ({ ...record, public: isPublic })),
    remove: (place) => Effect.andThen(find(place), erase(place))
  } satisfies CheckpointStore
})
