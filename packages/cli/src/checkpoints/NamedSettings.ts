/**
 * Settings that name a checkpoint by its run, such as `runs/x@10` or, in a list, `judge=runs/x@10`, converted to paths that the new run's
 * backend can load. The engine and torch keep checkpoints in each run's folder, so another run's checkpoint is copied, and the new run does
 * not depend on the old run.
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

/** The backend that will load the checkpoints, and the folder in which it keeps them. */
export interface Target extends Pick<Backend.Options, "checkpoints"> {
  readonly backend: Backend.Name
  /** Whether the run is a pipeline stage that shares this folder with earlier stages. */
  readonly isStage: boolean
}

/** The prefix of addresses that a backend can load. */
const schemeOf = (backend: Backend.Name) => {
  if (LocalAddress.hasFolders(backend)) return LocalAddress.scheme(backend)
  return backend === "tinker" ? "tinker://" : "scripted://"
}

/** Whether the folder contains the checkpoint at a local address. */
const isIn = Effect.fnUntraced(function*(checkpoints: string, address: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  return yield* Effect.orElseSucceed(
    fs.exists(path.join(checkpoints, address.replace(/^[a-z]+:\/\//, ""))),
    () => false
  )
})

/** The checkpoint that the text names by a run, and its address; undefined if the backend can load the text itself. */
const find = Effect.fnUntraced(function*(
  setting: Setting.Setting,
  flag: string,
  text: string,
  { backend, checkpoints, isStage }: Target
) {
  // A stage may receive an address of an earlier stage, with which it shares the folder.
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

/** A list entry: a name, `=` and a checkpoint. */
const named = /^([^=]*=)(.+)$/s

/** Whether the setting is a list of names that may have checkpoints after `=`. */
const hasCheckpoints = ({ kind, weights }: Setting.Setting) => kind === "texts" && weights !== undefined

const settingOf = ({ fields }: Setting.Struct, name: string) => {
  const field = fields[name]
  return field === undefined ? undefined : Setting.of(field)
}

/** Replaces each setting that may name a checkpoint; in a list, only the text after `name=`. */
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

/** Replaces the checkpoints that the settings name by a run with paths that the backend can load. */
export const resolve = (struct: Setting.Struct, given: Given, target: Target) =>
  replaced(struct, given, (setting, flag, text) => pathOf(setting, flag, text, target))

/** The settings with the checkpoints in lists removed, so only the names remain. */
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
 * The settings for a plan, which copies no checkpoint and asks no model: list entries keep only their names. Fails if training would not
 * find a checkpoint. A pipeline stage is not checked, because the checkpoints of earlier stages do not exist yet.
 */
export const planned = (struct: Setting.Struct, given: Given, target: Target) =>
  Effect.as(
    target.isStage
      ? Effect.void
      : replaced(struct, given, (setting, flag, text) => Effect.as(find(setting, flag, text, target), text)),
    alone(struct, given)
  )
