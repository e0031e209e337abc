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
import * as CopiedCheckpoint from "./CopiedCheckpoint.ts"
import * as NamedCheckpoint from "./NamedCheckpoint.ts"

/** The backend of the new run, and where its engine keeps checkpoints. */
interface Target extends Pick<Backend.Options, "checkpoints"> {
  readonly backend: Backend.Name
  /** Whether it shares that folder with the stages before it. */
  readonly isStage: boolean
}

const scheme = { engine: "engine://", tinker: "tinker://", mock: "scripted://" } as const

/** Whether the folder holds the checkpoint at the engine's address. */
const isIn = Effect.fnUntraced(function*(checkpoints: string, address: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  return yield* Effect.orElseSucceed(
    fs.exists(path.join(checkpoints, address.slice(scheme.engine.length))),
    () => false
  )
})

const pathOf = Effect.fnUntraced(function*(
  setting: Setting.Setting,
  flag: string,
  text: string,
  { backend, checkpoints, isStage }: Target
) {
  // A stage is given the addresses of stages before it, with which it shares the folder.
  const isShared = text.startsWith(scheme.engine) && isStage && (yield* isIn(checkpoints, text))
  const named = isShared ? undefined : yield* NamedCheckpoint.find(text, flag, checkpoints)
  if (named === undefined) {
    const mayBeModel = setting.default !== undefined
    return mayBeModel || NamedCheckpoint.isAddress(text) ? text : yield* NamedCheckpoint.unknown(flag, text)
  }
  const { samplerPath, statePath } = named.saved
  const address = setting.weights === "sampler" ? samplerPath ?? statePath : statePath
  if (!address.startsWith(scheme[backend])) {
    const detail = `its weights are at ${address}, where --backend ${backend} does not find them`
    return yield* new NamedCheckpoint.NoCheckpoint({ flag, run: text, detail })
  }
  return backend === "engine"
    ? `${scheme.engine}${yield* CopiedCheckpoint.copy(named, address, checkpoints)}`
    : address
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
