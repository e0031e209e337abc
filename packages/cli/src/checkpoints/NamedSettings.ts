/**
 * Settings that name a checkpoint by its run, such as `runs/x@10`, as paths that another run's backend knows. The engine keeps each run's
 * checkpoints in the run's own folder: a checkpoint of another run is copied there, so that the new run does not depend on the old one.
 */
import { Setting } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import type * as Backend from "../train/Backend.ts"
import { kebab } from "../train/SettingFlags.ts"
import * as NamedCheckpoint from "./NamedCheckpoint.ts"
import * as RunCheckpoints from "./RunCheckpoints.ts"

/** The backend of the new run, and where its engine keeps checkpoints. */
interface Target extends Pick<Backend.Options, "checkpoints"> {
  readonly backend: Backend.Name
}

const scheme = { engine: "engine://", tinker: "tinker://", mock: "scripted://" } as const

/** The folder `<run>-<iteration>-<digest>` of the copy: equal checkpoints have one name, and others another. */
const idOf = (run: string, { iteration, stateDigest = "" }: NamedCheckpoint.NamedCheckpoint["saved"]) =>
  [run.replace(/[^A-Za-z0-9._-]/g, "-").replace(/^[^A-Za-z0-9]+/, ""), iteration, stateDigest.slice(0, 8)].join("-")

/** Copies the files of a checkpoint of another run, unless they are there, and gives the copy's path. */
const copied = Effect.fnUntraced(function*(
  { run, saved }: NamedCheckpoint.NamedCheckpoint,
  address: string,
  checkpoints: string
) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const from = yield* RunCheckpoints.folderOf(run, address)
  const [, kind = "", name = ""] = /\/([^/]+)\/([^/]+)$/.exec(address) ?? []
  const id = idOf(path.basename(run), saved)
  const to = path.join(checkpoints, id, kind, name)
  if (from !== undefined && !(yield* fs.exists(to))) {
    const partial = path.join(checkpoints, id, kind, `.${name}.partial`)
    yield* fs.remove(partial, { recursive: true, force: true })
    yield* fs.makeDirectory(path.dirname(to), { recursive: true })
    yield* fs.copy(from, partial)
    yield* fs.rename(partial, to)
  }
  return `${scheme.engine}${id}/${kind}/${name}`
})

const pathOf = Effect.fnUntraced(function*(
  setting: Setting.Setting,
  flag: string,
  text: string,
  { backend, checkpoints }: Target
) {
  const named = yield* NamedCheckpoint.find(text, flag)
  if (named === undefined) {
    const mayBeModel = setting.default !== undefined
    return mayBeModel || text.includes("://") ? text : yield* NamedCheckpoint.unknown(flag, text)
  }
  const { samplerPath, statePath } = named.saved
  const address = setting.weights === "sampler" ? samplerPath ?? statePath : statePath
  if (!address.startsWith(scheme[backend])) {
    const detail = `its weights are at ${address}, where --backend ${backend} does not find them`
    return yield* new NamedCheckpoint.NoCheckpoint({ flag, run: text, detail })
  }
  return backend === "engine" ? yield* copied(named, address, checkpoints) : address
})

/** The given settings, with the paths of the checkpoints that they name by a run. */
export const resolve = Effect.fnUntraced(function*(
  { fields }: Setting.Struct,
  given: Readonly<Record<string, unknown>>,
  target: Target
) {
  const resolved = yield* Effect.forEach(
    Object.entries(given),
    Effect.fnUntraced(function*([name, value]) {
      const field = fields[name]
      const setting = field === undefined ? undefined : Setting.of(field)
      if (setting?.kind !== "checkpoint" || typeof value !== "string") return [name, value] as const
      return [name, yield* pathOf(setting, `--${kebab(name)}`, value, target)] as const
    })
  )
  return Object.fromEntries(resolved)
})
