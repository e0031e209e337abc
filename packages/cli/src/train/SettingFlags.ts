/** A recipe's settings as flags. */
import { Setting } from "@effect-rl/core"
import type { Recipe } from "@effect-rl/recipes"
import * as CliError from "effect/cli/CliError"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const kebab = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

const parameter = (name: string, { choices = [], kind }: Setting.Setting): Flag.Flag<unknown> => {
  switch (kind) {
    case "int":
      return Flag.Int(name)
    case "number":
      return Flag.Finite(name)
    case "text":
    case "duration":
      return Flag.String(name)
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

/** Refuses a value that the setting's schema refuses, in its words. */
const checked = (option: string, field: Schema.Decoder<unknown>) => (value: unknown) =>
  Schema.decodeUnknownEffect(field)(value).pipe(
    Effect.mapError((error) =>
      new CliError.InvalidValue({ option, value: String(value), expected: error.message, kind: "flag" })
    )
  )

const flag = (name: string, field: Schema.Decoder<unknown>, setting: Setting.Setting) =>
  parameter(name, setting).pipe(
    Flag.withDescription(describe(setting)),
    Flag.mapEffect(checked(name, field)),
    Flag.withDefault<unknown>(setting.default)
  )

/** What was given; a setting without a default that was left out is no key at all. */
export const given = (settings: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))

/** One flag per setting, `groupSize` as `--group-size`; what they parse to decodes, by `given`, as the recipe's settings. */
export const of = (
  fields: Recipe.Recipe<Recipe.BaseSettings>["settings"]["fields"]
): Record<string, Flag.Flag<unknown>> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]) => {
      const setting = Setting.of(field)
      return setting === undefined ? [] : [[name, flag(kebab(name), field, setting)]]
    })
  )
