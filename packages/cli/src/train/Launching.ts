/** How a run was started: its command, settings and machine, as a record. */
import { RunRecord, Setting } from "@effect-rl/core"
import type { Json, Launch } from "@effect-rl/core/records"
import type { Recipe } from "@effect-rl/recipes"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import { arch, availableParallelism, cpus, release, totalmem, type } from "node:os"
import { CommandLine, quote } from "../terminal/CommandLine.ts"
import { commandName } from "../terminal/CommandName.ts"

const decodeJson = Schema.decodeUnknownOption(Schema.Json)

const json = (value: unknown): Json.Json => Option.getOrElse(decodeJson(value), () => String(value))

/** The recipe's settings; given values replace defaults. */
const settingsOf = (struct: Setting.Struct, given: Readonly<Record<string, unknown>>): ReadonlyArray<Launch.Chosen> =>
  Object.entries(struct.fields).flatMap(([name, field]) => {
    const setting = Setting.of(field)
    const value = given[name] ?? setting?.default
    if (setting === undefined || value === undefined) return []
    const { default: usual, unit } = setting
    return [{
      name,
      value: json(value),
      ...(usual === undefined ? {} : { default: json(usual) }),
      ...(unit === undefined ? {} : { unit })
    }]
  })

const machine = (): Launch.Launch["machine"] => ({
  system: `${type()} ${release()} ${arch()}`,
  processor: cpus()[0]?.model.trim() ?? "",
  cores: availableParallelism(),
  memory: totalmem()
})

/** Removes the password from an address in an argument. */
const withoutPassword = (argument: string) => argument.replace(/(:\/\/[^:@/]*):[^@/]*@/, "$1@")

/** The launch record of a run with the given settings. */
export const make = Effect.fnUntraced(function*(
  { name, settings }: Pick<Recipe.Recipe, "name" | "settings">,
  given: Readonly<Record<string, unknown>>
) {
  const path = yield* Path.Path
  const launch: Launch.Launch = {
    recipe: name,
    command: `${yield* commandName} ${quote((yield* CommandLine).map(withoutPassword))}`,
    directory: path.resolve("."),
    machine: machine(),
    versions: { "effect-rl": RunRecord.version, node: process.versions.node },
    settings: settingsOf(settings, given)
  }
  return launch
})
