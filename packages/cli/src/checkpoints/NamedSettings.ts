/**
 * Settings that name a checkpoint by its run, such as `runs/x@10` or, in a list, `judge=runs/x@10`, as paths that another run's backend
 * knows. The engine and torch keep each run's checkpoints in the run's own folder: a checkpoint of another run is copied there, so that the
 * new run does not depend on the old one.
 */
import { Setting } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import type * as Backend from "../train/Backend.ts"
import { kebab } from "../train/SettingFlags.ts"
import * as CopiedCheckpoint from "./CopiedCheckpoint.ts"
import * as LocalAddress from "./LocalAddress.ts"
import * as NamedCheckpoint from "./NamedCheckpoint.ts"

/** The backend that is to find the checkpoints, and where it keeps them. */
export interface Target extends Pick<Backend.Options, "checkpoints"> {
  readonly backend: Backend.Name
  /** Whether it shares that folder with the stages before it. */
  readonly isStage: boolean
}

/** The beginning of the addresses that a backend knows. */
const schemeOf = (backend: Backend.Name) => {
  if (LocalAddress.hasFolders(backend)) return LocalAddress.scheme(backend)
  return backend === "tinker" ? "tinker://" : "scripted://"
}

/** Whether the folder holds the checkpoint at an address of this machine. */
const isIn = Effect.fnUntraced(function*(checkpoints: string, address: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  return yield* Effect.orElseSucceed(
    fs.exists(path.join(checkpoints, address.replace(/^[a-z]+:\/\//, ""))),
    () => false
  )
})

/** The checkpoint that the text names by a run, and its address; undefined where the text itself is what the backend knows. */
const find = Effect.fnUntraced(function*(
  setting: Setting.Setting,
  flag: string,
  text: string,
  { backend, checkpoints, isStage }: Target
) {
  // A stage is given the addresses of stages before it, with which it shares the folder.
  const isShared = LocalAddress.isLocal(text) && isStage && (yield* isIn(checkpoints, text))
  const found = isShared ? undefined : yield* NamedCheckpoint.find(text, flag, checkpoints)
  if (found === undefined) {
    const mayBeModel = setting.kind === "checkpoint" && setting.default !== undefined
    return mayBeModel || NamedCheckpoint.isAddress(text) ? undefined : yield* NamedCheckpoint.unknown(flag, text)
  }
  const { samplerPath, statePath } = found.saved
  const address = setting.weights === "sampler" ? samplerPath ?? statePath : statePath
  if (!address.startsWith(schemeOf(backend))) {
    const detail = `its weights are at ${address}, where --backend ${backend} does not find them`
    return yield* new NamedCheckpoint.NoCheckpoint({ flag, run: text, detail })
  }
  return { found, address }
})

const pathOf = Effect.fnUntraced(function*(setting: Setting.Setting, flag: string, text: string, target: Target) {
  const named = yield* find(setting, flag, text, target)
  if (named === undefined) return text
  const { address, found } = named
  return LocalAddress.hasFolders(target.backend)
    ? `${LocalAddress.scheme(target.backend)}${yield* CopiedCheckpoint.copy(found, address, target.checkpoints)}`
    : address
})

type Given = Readonly<Record<string, unknown>>

/** A name in a list, and the checkpoint behind its "=". */
const named = /^([^=]*=)(.+)$/s

/** Whether the setting is a list of names that may have checkpoints behind them. */
const hasCheckpoints = ({ kind, weights }: Setting.Setting) => kind === "texts" && weights !== undefined

const settingOf = ({ fields }: Setting.Struct, name: string) => {
  const field = fields[name]
  return field === undefined ? undefined : Setting.of(field)
}

/** The given settings, each text that may name a checkpoint being replaced; in a list that is the text behind a name and its "=". */
const replaced = Effect.fnUntraced(function*<E, R>(
  struct: Setting.Struct,
  given: Given,
  by: (setting: Setting.Setting, flag: string, text: string) => Effect.Effect<string, E, R>
) {
  const settings = yield* Effect.forEach(
    Object.entries(given),
    Effect.fnUntraced(function*([name, value]) {
      const setting = settingOf(struct, name)
      if (setting === undefined) return [name, value] as const
      const path = (text: string) => by(setting, `--${kebab(name)}`, text)
      const inList = (text: unknown) => {
        const [, before = "", behind] = typeof text === "string" ? named.exec(text) ?? [] : []
        return behind === undefined ? Effect.succeed(text) : Effect.map(path(behind), (found) => `${before}${found}`)
      }
      if (setting.kind === "checkpoint" && typeof value === "string") return [name, yield* path(value)] as const
      if (!hasCheckpoints(setting) || !Array.isArray(value)) return [name, value] as const
      return [name, yield* Effect.forEach(value, inList)] as const
    })
  )
  return Object.fromEntries(settings)
})

/** The given settings, with the paths of the checkpoints that they name by a run. */
export const resolve = (struct: Setting.Struct, given: Given, target: Target) =>
  replaced(struct, given, (setting, flag, text) => pathOf(setting, flag, text, target))

/** The settings with the names of lists alone, without the checkpoints behind them. */
const alone = (struct: Setting.Struct, given: Given): Given =>
  Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const setting = settingOf(struct, name)
      const isList = setting !== undefined && hasCheckpoints(setting) && Array.isArray(value)
      const nameOf = (text: unknown) => typeof text === "string" ? text.replace(/=.+$/s, "") : text
      return [name, isList ? value.map(nameOf) : value]
    })
  )

/**
 * The given settings for a plan, which copies no checkpoint and asks no model: those of lists are left out, and their names stand alone. Fails
 * where training would not find a checkpoint; a stage is planned before there are those of the stages before it.
 */
export const planned = (struct: Setting.Struct, given: Given, target: Target) =>
  Effect.as(
    target.isStage
      ? Effect.void
      : replaced(struct, given, (setting, flag, text) => Effect.as(find(setting, flag, text, target), text)),
    alone(struct, given)
  )
