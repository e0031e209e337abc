/** A recipe's settings as flags. */
import { Setting } from "@effect-rl/core"
import * as Flag from "effect/cli/Flag"
import * as Option from "effect/Option"
import type * as Help from "../Help.ts"

/** Converts `groupSize` to `group-size`. */
export const kebab = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

const parameter = (name: string, { choices = [], kind }: Setting.Setting): Flag.Flag<unknown> => {
  switch (kind) {
    case "int":
      return Flag.Int(name)
    case "number":
      return Flag.Finite(name)
    case "text":
      return Flag.String(name)
    case "checkpoint":
      return Flag.withMetavar(Flag.String(name), "checkpoint")
    case "texts":
      return Flag.map(Flag.String(name), (text) => text.split(","))
    case "duration":
      return Flag.withMetavar(Flag.String(name), "duration")
    case "toggle":
      return Flag.Boolean(name)
    case "choice":
      return Flag.Literals(name, choices)
  }
}

const describe = (setting: Setting.Setting) => {
  const unit = setting.unit === undefined ? "" : ` ${setting.unit}`
  if (setting.default !== undefined) return `${setting.help} (default: ${setting.default}${unit})`
  return unit === "" ? setting.help : `${setting.help} (in${unit})`
}

/** One optional flag per setting. A setting that is not given keeps its value from the configuration file, or its default. */
export const of = ({ fields }: Setting.Struct): Record<string, Flag.Flag<Option.Option<unknown>>> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]) => {
      const setting = Setting.of(field)
      if (setting === undefined) return []
      return [[name, parameter(kebab(name), setting).pipe(Flag.withDescription(describe(setting)), Flag.optional)]]
    })
  )

/**
 * Help sections with the flags of the settings, in the order of the settings. Settings without a section are left out.
 */
export const sections = ({ fields }: Setting.Struct): ReadonlyArray<Help.Section> => {
  const flags = new Map<string, Array<string>>()
  for (const [name, field] of Object.entries(fields)) {
    const title = Setting.of(field)?.section
    if (title !== undefined) flags.set(title, [...flags.get(title) ?? [], kebab(name)])
  }
  return Array.from(flags, ([title, flags]) => ({ title, flags }))
}

/** The settings that were given as flags. */
export const given = (settings: Readonly<Record<string, Option.Option<unknown>>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(settings).flatMap(([name, value]) => Option.isSome(value) ? [[name, value.value]] : [])
  )
