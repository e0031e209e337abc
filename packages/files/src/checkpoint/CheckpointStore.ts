/**
 * Stores a backend's checkpoints. The path `<scheme>://<model id>/<kind>/<name>` stands for a folder under one root, which can be moved.
 * Servers show their clients checkpoint paths with the scheme `tinker` instead; `find` accepts both schemes.
 */
import { TinkerError } from "@effect-rl/core"
import type { TrainingClient } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import type * as Scope from "effect/Scope"
import * as FileFailure from "../file/FileFailure.ts"

/** `weights` can continue training; `sampler_weights` can only be sampled from. */
export type Kind = "weights" | "sampler_weights"

/** The checkpoints of one backend. */
export interface CheckpointStore {
  /**
   * Reserves an unused model id, `<name>-<number>` with the last part of the base model's name, by creating the id's folder. When the scope
   * closes, the folder is removed if it is empty.
   */
  readonly claim: (baseModel: string) => Effect.Effect<string, TinkerError.Unavailable, Scope.Scope>
  /**
   * Writes a complete checkpoint or none, and replaces a checkpoint with the same name. `write` fills the given folder and returns the
   * checkpoint's digest. Fails with `Rejected` if `checkName` refuses the name.
   */
  readonly save: (
    modelId: string,
    kind: Kind,
    name: string,
    write: (folder: string) => Effect.Effect<string, TinkerError.Reason>
  ) => Effect.Effect<TrainingClient.Checkpoint, TinkerError.Reason>
  /** The folder of an existing checkpoint. If there is none, fails with `NotFound`, which lists up to `mostListed` available paths. */
  readonly find: (path: string) => Effect.Effect<string, TinkerError.NotFound | TinkerError.Unavailable>
}

/** Allowed model ids and checkpoint names. */
export const segment = /^[A-Za-z0-9][A-Za-z0-9._-]*$/
/** Splits a checkpoint path into scheme, model id, kind and name. */
export const checkpointPath = /^([a-z]+):\/\/([^/]+)\/(weights|sampler_weights)\/([^/]+)$/

/** Maximum number of available names that a `NotFound` error lists. */
export const mostListed = 20

/** The last part of a model's name, with `-` for each character that folder names cannot have; `model` if that part is empty. */
export const slug = (baseModel: string) => baseModel.split(/[/\\]/).at(-1)?.replace(/[^A-Za-z0-9._-]/g, "-") || "model"

/** Folder names for a new checkpoint while it is written and for the old one while it is replaced. Neither is a valid checkpoint name. */
const partial = (name: string) => `.${name}.partial`
const replaced = (name: string) => `.${name}.replaced`

/** The number after the largest number that a name `<prefix>-<number>` has; 1 if there is no such name. */
const firstFree = (names: ReadonlyArray<string>, prefix: string) =>
  names.reduce((next, name) => {
    const number = name.startsWith(`${prefix}-`) ? Number(name.slice(prefix.length + 1)) : NaN
    return Number.isSafeInteger(number) ? Math.max(next, number + 1) : next
  }, 1)

/** The root folder of a store, with the services that access it. */
interface Place {
  readonly fs: FileSystem.FileSystem
  readonly join: Path.Path["join"]
  readonly root: string
  /** The URI scheme of the backend's checkpoint paths, without `://`. */
  readonly scheme: string
}

const unavailable = ({ root }: Place) =>
  Effect.mapError((error: PlatformError) => new TinkerError.Unavailable({ detail: FileFailure.describe(root, error) }))

/** Creates the first free folder `<slug>-<number>`. Two processes never get the same folder. */
const claimFrom = (place: Place, baseModel: string, number: number): Effect.Effect<string, PlatformError> => {
  const { fs, join, root } = place
  const id = `${slug(baseModel)}-${number}`
  return fs.makeDirectory(join(root, id)).pipe(
    Effect.as(id),
    Effect.catchReason("PlatformError", "AlreadyExists", () => claimFrom(place, baseModel, number + 1))
  )
}

const claim = (place: Place, baseModel: string) => {
  const { fs, join, root } = place
  return Effect.acquireRelease(
    fs.makeDirectory(root, { recursive: true }).pipe(
      Effect.andThen(fs.readDirectory(root)),
      Effect.flatMap((names) => claimFrom(place, baseModel, firstFree(names, slug(baseModel)))),
      unavailable(place)
    ),
    (id) =>
      fs.readDirectory(join(root, id)).pipe(
        Effect.flatMap((names) => names.length === 0 ? fs.remove(join(root, id), { recursive: true }) : Effect.void),
        Effect.ignore({ log: true })
      )
  )
}

/** Replaces a checkpoint by two renames. Between them the old checkpoint is in a folder that `find` also checks. */
const replace = Effect.fnUntraced(function*({ fs, join }: Place, parent: string, name: string) {
  const folder = join(parent, name)
  const old = join(parent, replaced(name))
  if (yield* fs.exists(folder)) {
    yield* fs.remove(old, { recursive: true, force: true })
    yield* fs.rename(folder, old)
  }
  yield* fs.rename(join(parent, partial(name)), folder)
  yield* fs.remove(old, { recursive: true, force: true })
}, Effect.uninterruptible)

/** Fails if a checkpoint's name does not match `segment`. */
export const checkName = (name: string): Effect.Effect<void, TinkerError.Rejected> =>
  segment.test(name)
    ? Effect.void
    : Effect.fail(
      new TinkerError.Rejected({ detail: `name is "${name}", expected letters, digits, ".", "_" and "-"` })
    )

const save = Effect.fnUntraced(function*(
  place: Place,
  ...[modelId, kind, name, write]: Parameters<CheckpointStore["save"]>
) {
  yield* checkName(name)
  const { fs, join, root, scheme } = place
  const parent = join(root, modelId, kind)
  const written = join(parent, partial(name))
  const discard = fs.remove(written, { recursive: true, force: true })
  yield* discard.pipe(Effect.andThen(fs.makeDirectory(written, { recursive: true })), unavailable(place))
  const digest = yield* write(written).pipe(
    Effect.tap(() => unavailable(place)(replace(place, parent, name))),
    Effect.onError(() => Effect.ignore(discard, { log: true }))
  )
  return { path: `${scheme}://${modelId}/${kind}/${name}`, digest }
})

const list = Effect.fnUntraced(function*({ fs, join, root, scheme }: Place) {
  const readNames = (folder: string) => fs.readDirectory(folder).pipe(Effect.orElseSucceed(() => []))
  const paths: Array<string> = []
  for (const id of yield* readNames(root)) {
    for (const kind of ["weights", "sampler_weights"]) {
      for (const name of yield* readNames(join(root, id, kind))) {
        if (segment.test(name)) paths.push(`${scheme}://${id}/${kind}/${name}`)
      }
    }
  }
  return paths.sort()
})

const find = Effect.fnUntraced(function*(place: Place, path: string) {
  const { fs, join, root, scheme } = place
  const [, given = "", id = "", kind = "", name = ""] = checkpointPath.exec(path) ?? []
  if ([scheme, "tinker"].includes(given) && segment.test(id) && segment.test(name)) {
    for (const folder of [join(root, id, kind, name), join(root, id, kind, replaced(name))]) {
      if (yield* unavailable(place)(fs.exists(folder))) return folder
    }
  }
  const available = yield* list(place)
  return yield* new TinkerError.NotFound({ kind: "checkpoint", name: path, available: available.slice(0, mostListed) })
})

/**
 * Creates a store for the checkpoints under `root`.
 *
 * @example
 * const find = (path: string) => Effect.flatMap(CheckpointStore.make("runs/checkpoints", "engine"), (store) => store.find(path))
 */
export const make = Effect.fnUntraced(function*(root: string, scheme: string): Effect.fn.Return<
  CheckpointStore,
  never,
  FileSystem.FileSystem | Path.Path
> {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const place: Place = { fs, join, root, scheme }
  return {
    claim: (baseModel) => claim(place, baseModel),
    save: (...given) => save(place, ...given),
    find: (path) => find(place, path)
  }
})
