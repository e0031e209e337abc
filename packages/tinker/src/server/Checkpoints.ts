/** The checkpoints of a backend as its clients see them: listed, described, made public, expired, removed. */
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Schedule from "effect/Schedule"
import * as Struct from "effect/Struct"
import type * as Wire from "../wire/Checkpoints.ts"
import * as CheckpointFiles from "./CheckpointFiles.ts"
import * as CheckpointPath from "./CheckpointPath.ts"
import * as CheckpointRecords from "./CheckpointRecords.ts"
import { badRequest, notFound, type Refusal } from "./Refusal.ts"

export interface CheckpointOptions {
  /** Where the backend keeps its checkpoints. */
  readonly folder: string
  /** What the backend's own checkpoint paths begin with, before `://`. */
  readonly scheme: string
  /** How long checkpoints stay whose clients do not say; for ever unless given. */
  readonly ttl?: Duration.Input
}

type Place = CheckpointPath.Place
type WeightsInfo = typeof Wire.WeightsInfo.Type
type Checkpoint = typeof Wire.Checkpoint.Type

export interface Checkpoints {
  readonly paths: CheckpointPath.Paths
  readonly runs: Effect.Effect<ReadonlyArray<string>, Refusal>
  /** Newest first. */
  readonly list: (run: string) => Effect.Effect<ReadonlyArray<Checkpoint>, Refusal>
  readonly exists: (place: Place) => Effect.Effect<boolean, Refusal>
  readonly files: (place: Place) => Effect.Effect<ReadonlyArray<CheckpointFiles.File>, Refusal>
  readonly weights: (place: Place) => Effect.Effect<WeightsInfo, Refusal>
  /** Notes what the backend has just saved, and when it expires. */
  readonly saved: (place: Place, weights: WeightsInfo, ttlSeconds: number | undefined) => Effect.Effect<void, Refusal>
  /** Takes the files to another place; fails where there are none, or some already. */
  readonly move: (from: Place, to: Place) => Effect.Effect<void, Refusal>
  readonly setTtl: (place: Place, seconds: number | null) => Effect.Effect<void, Refusal>
  readonly setPublic: (place: Place, isPublic: boolean) => Effect.Effect<void, Refusal>
  readonly remove: (place: Place) => Effect.Effect<void, Refusal>
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

const iso = (millis: number) => new Date(millis).toISOString()

const toWire = (place: Place, type: Checkpoint["checkpoint_type"], found: Found): Checkpoint => {
  const { expiresMillis, public: isPublic = false } = Option.getOrUndefined(found.record) ?? {}
  return {
    checkpoint_id: place.id,
    checkpoint_type: type,
    time: iso(savedMillis(found)),
    tinker_path: CheckpointPath.format(place),
    size_bytes: found.files.reduce((total, { size }) => total + size, 0),
    public: isPublic,
    ...(expiresMillis === undefined ? {} : { expires_at: iso(expiresMillis) })
  }
}

const newestFirst = (checkpoints: ReadonlyArray<Checkpoint>) =>
  [...checkpoints].sort((left, right) => right.time.localeCompare(left.time))

/** Removes those that expired, every minute until its scope closes. */
export const make = Effect.fnUntraced(function*({ folder, scheme, ttl }: CheckpointOptions) {
  const { join } = yield* Path.Path
  const files = yield* CheckpointFiles.make(folder)
  const records = yield* CheckpointRecords.make(join(folder, ".tinker"))
  const usualMillis = ttl === undefined ? undefined : Duration.toMillis(Duration.fromInputUnsafe(ttl))

  const find = Effect.fnUntraced(function*(place: Place) {
    const missing = notFound("checkpoint", CheckpointPath.format(place))
    if (!CheckpointPath.isOurs(place)) return yield* missing
    const found: Found = { record: yield* records.read(place), files: yield* files.list(place) }
    const now = yield* Clock.currentTimeMillis
    const isThere = Option.match(found.record, {
      onSome: ({ expiresMillis = Infinity }) => expiresMillis > now,
      onNone: () => found.files.length > 0
    })
    return isThere ? found : yield* missing
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

  const runs = Effect.map(
    Effect.all([files.runs, records.runs]),
    ([left, right]) => Arr.dedupe([...left, ...right])
  )

  const places = Effect.fnUntraced(function*(run: string) {
    const of = ([kind, type]: typeof kinds[number]) =>
      Effect.map(
        Effect.all([files.names(run, kind), records.names(run, kind)]),
        ([left, right]) => Arr.dedupe([...left, ...right]).map((name) => ({ run, id: `${kind}/${name}`, type }))
      )
    return CheckpointPath.segment.test(run) ? (yield* Effect.forEach(kinds, of)).flat() : []
  })

  const list: Checkpoints["list"] = Effect.fnUntraced(function*(run) {
    const found = yield* Effect.forEach(yield* places(run), (place) =>
      find(place).pipe(
        Effect.map((found) => [toWire(place, place.type, found)]),
        Effect.catchIf(({ status }) => status === 404, () => Effect.succeed([]))
      ))
    return newestFirst(found.flat())
  })

  const erase = (place: Place) => Effect.andThen(files.remove(place), records.remove(place))

  const eraseExpired = Effect.fnUntraced(function*(place: Place) {
    const record = yield* records.read(place)
    const now = yield* Clock.currentTimeMillis
    if (Option.isNone(record) || (record.value.expiresMillis ?? Infinity) > now) return
    yield* erase(place)
    yield* Effect.logInfo(`${CheckpointPath.format(place)} expired and was removed`)
  })

  yield* runs.pipe(
    Effect.flatMap(Effect.forEach((run) => Effect.flatMap(places(run), Effect.forEach(eraseExpired)))),
    Effect.catch((refusal) => Effect.logWarning(`expired checkpoints were not removed: ${refusal.message}`)),
    Effect.repeat(Schedule.spaced("1 minute")),
    Effect.forkScoped
  )

  return {
    paths: CheckpointPath.make(scheme),
    runs,
    list,
    exists: (place) => Effect.isSuccess(find(place)),
    files: (place) => Effect.map(find(place), ({ files }) => files),
    weights: (place) => Effect.flatMap(find(place), (found) => weightsOf(place, found)),
    saved: Effect.fnUntraced(function*(place, weights, ttlSeconds) {
      const now = yield* Clock.currentTimeMillis
      const millis = ttlSeconds === undefined ? usualMillis : ttlSeconds * 1000
      yield* records.write(place, expiring({ weights, savedMillis: now, public: false }, millis, now))
    }),
    move: Effect.fnUntraced(function*(from, to) {
      if (!CheckpointPath.isOurs(to) || (yield* Effect.isSuccess(find(to)))) {
        return yield* badRequest(`the checkpoint "${to.id}" already exists, or cannot be called so`)
      }
      yield* files.move(from, to)
    }),
    setTtl: (place, seconds) =>
      Effect.flatMap(
        Clock.currentTimeMillis,
        (now) => change(place, (record) => expiring(record, seconds === null ? undefined : seconds * 1000, now))
      ),
    setPublic: (place, isPublic) => change(place, (record) => ({ ...record, public: isPublic })),
    remove: (place) => Effect.andThen(find(place), erase(place))
  } satisfies Checkpoints
})
