/** The checkpoints that the backend keeps as `<model>/<kind>/<name>` under one folder, by the paths clients know them by. */
import { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import * as Schema from "effect/Schema"
import type * as Wire from "../wire/Checkpoints.ts"
import { notFound, Refusal } from "./Refusal.ts"
import type * as Tar from "./Tar.ts"

export interface CheckpointOptions {
  readonly folder: string
  /** What the backend's own checkpoint paths begin with, before `://`. */
  readonly scheme: string
}

type Checkpoint = typeof Wire.Checkpoint.Type

export interface CheckpointFolder {
  readonly toClient: (path: string) => string
  readonly toBackend: (path: string) => string
  readonly runs: Effect.Effect<ReadonlyArray<string>, Refusal>
  /** Newest first. */
  readonly list: (run: string) => Effect.Effect<ReadonlyArray<Checkpoint>, Refusal>
  readonly exists: (run: string, id: string) => Effect.Effect<boolean, Refusal>
  readonly files: (run: string, id: string) => Effect.Effect<ReadonlyArray<Tar.File<PlatformError>>, Refusal>
  readonly remove: (run: string, id: string) => Effect.Effect<void, Refusal>
  readonly info: (run: string, id: string) => Effect.Effect<typeof Wire.WeightsInfo.Type, Refusal>
}

const clientScheme = "tinker://"
const segment = /^[A-Za-z0-9][A-Za-z0-9._-]*$/
const checkpointId = /^(weights|sampler_weights)\/([A-Za-z0-9][A-Za-z0-9._-]*)$/
const clientPath = /^tinker:\/\/([^/]+)\/(.+)$/

const AdapterConfig = Schema.fromJsonString(Schema.Struct({
  base_model_name_or_path: Schema.String,
  r: Schema.Int,
  target_modules: Schema.Array(Schema.String)
}))

const unavailable = ({ message }: { readonly message: string }) => new Refusal({ status: 500, detail: message })

/** The run and the checkpoint that a path names. */
export const parse = (path: string): Effect.Effect<{ readonly run: string; readonly id: string }, Refusal> => {
  const [, run, id] = clientPath.exec(path) ?? []
  return run === undefined || id === undefined
    ? Effect.fail(notFound("checkpoint", path))
    : Effect.succeed({ run, id })
}

export const make = Effect.fnUntraced(function*({ folder, scheme }: CheckpointOptions) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const backendScheme = `${scheme}://`

  const names = (folder: string) =>
    fs.readDirectory(folder).pipe(
      Effect.map((names) => names.filter((name) => segment.test(name))),
      Effect.catchReason("PlatformError", "NotFound", () => Effect.succeed([])),
      Effect.mapError(unavailable)
    )

  const folderOf = Effect.fnUntraced(function*(run: string, id: string) {
    const place = join(folder, run, id)
    const isOurs = segment.test(run) && checkpointId.test(id)
    if (isOurs && (yield* Effect.mapError(fs.exists(place), unavailable))) return place
    return yield* notFound("checkpoint", `${clientScheme}${run}/${id}`)
  })

  const files: CheckpointFolder["files"] = Effect.fnUntraced(function*(run, id) {
    const place = yield* folderOf(run, id)
    return yield* Effect.forEach(
      yield* names(place),
      (name) =>
        Effect.map(Effect.mapError(fs.stat(join(place, name)), unavailable), ({ mtime, size }) => ({
          name,
          size: Number(size),
          modifiedSeconds: Math.floor(Option.getOrElse(mtime, () => new Date(0)).getTime() / 1000),
          content: fs.stream(join(place, name))
        }))
    )
  })

  const describe = Effect.fnUntraced(function*(run: string, kind: string, name: string) {
    const id = `${kind}/${name}`
    const all = yield* files(run, id)
    const modified = all.reduce((latest, { modifiedSeconds }) => Math.max(latest, modifiedSeconds), 0)
    return {
      checkpoint_id: id,
      checkpoint_type: kind === "weights" ? "training" : "sampler",
      time: new Date(modified * 1000).toISOString(),
      tinker_path: `${clientScheme}${run}/${id}`,
      size_bytes: all.reduce((total, { size }) => total + size, 0),
      public: false
    } satisfies Checkpoint
  })

  const list: CheckpointFolder["list"] = Effect.fnUntraced(function*(run) {
    if (!segment.test(run)) return []
    const found: Array<Checkpoint> = []
    for (const kind of ["weights", "sampler_weights"]) {
      for (const name of yield* names(join(folder, run, kind))) found.push(yield* describe(run, kind, name))
    }
    return found.sort((left, right) => right.time.localeCompare(left.time))
  })

  return {
    toClient: (path) => path.startsWith(backendScheme) ? `${clientScheme}${path.slice(backendScheme.length)}` : path,
    toBackend: (path) => path.startsWith(clientScheme) ? `${backendScheme}${path.slice(clientScheme.length)}` : path,
    runs: names(folder),
    list,
    exists: (run, id) => Effect.isSuccess(folderOf(run, id)),
    files,
    remove: Effect.fnUntraced(function*(run, id) {
      yield* Effect.mapError(fs.remove(yield* folderOf(run, id), { recursive: true }), unavailable)
    }),
    info: Effect.fnUntraced(function*(run, id) {
      const file = join(yield* folderOf(run, id), "adapter_config.json")
      const config = yield* fs.readFileString(file).pipe(
        Effect.flatMap(Schema.decodeUnknownEffect(AdapterConfig)),
        Effect.mapError(unavailable)
      )
      return {
        base_model: config.base_model_name_or_path,
        is_lora: true,
        lora_rank: config.r,
        train_attn: config.target_modules.includes("q_proj"),
        train_mlp: config.target_modules.includes("gate_proj"),
        train_unembed: config.target_modules.includes("lm_head")
      }
    })
  } satisfies CheckpointFolder
})

/** The same failure in the paths that clients know. */
export const clientError =
  ({ toClient }: CheckpointFolder) => ({ operation, reason }: TinkerError.TinkerError): TinkerError.TinkerError =>
    new TinkerError.TinkerError({
      operation,
      reason: reason._tag === "NotFound"
        ? new TinkerError.NotFound({
          kind: reason.kind,
          name: toClient(reason.name),
          available: reason.available.map(toClient)
        })
        : reason
    })
