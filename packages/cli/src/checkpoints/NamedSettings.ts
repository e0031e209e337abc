/**
 * Settings that name a checkpoint by its run, such as `runs/x@10`, as paths that another run's backend knows. The engine keeps each run's
 * checkpoints in the run's own folder: a checkpoint of another run is copied there, so that the new run does not depend on the old one.
 */
import { Setting } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import type * as Backend from "../train/Backend.ts"
import { kebab } from "../train/SettingFlags.ts"
import * as CopiedCheckpoint from "./CopiedCheckpoint.ts"
import * as NamedCheckpoint from "./NamedCheckpoint.ts"

/** The backend of the new run, and where its engine keeps checkpoints. */
interface Target extends Pick<Backend.Options, "checkpoints"> {
  readonly backend: Backend.Name
}

const scheme = { engine: "engine://", tinker: "tinker://", mock: "scripted://" } as const

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
