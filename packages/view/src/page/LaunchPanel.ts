/** How the run was started: command, settings, versions and machine. */
import type { Recorded } from "@effect-rl/core/records"
import * as Story from "@effect-rl/core/story/Story"
import { cell, type Child, copy, dotted, empty, h, panel, row, table } from "./Dom.ts"
import * as Text from "./Text.ts"

type Opened = Recorded.Opened<null>
type Value = Opened["settings"][string]

const textOf = (value: Value | undefined): string =>
  value === undefined ? "–" : Text.foreign(typeof value === "string" ? value : JSON.stringify(value))

const isObject = (value: Value): value is { readonly [name: string]: Value } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The fields of a configuration, keyed by paths such as `adam.beta1`. */
const flat = (fields: { readonly [name: string]: Value }, path = ""): ReadonlyArray<readonly [string, Value]> =>
  Object.entries(fields).flatMap(([name, value]) => {
    const at = path === "" ? name : `${path}.${name}`
    return isObject(value) ? flat(value, at) : [[at, value] as const]
  })

const named = (name: string) => cell(h("code", {}, Text.foreign(name)))

const changedTable = (launch: NonNullable<Opened["launch"]>): Child => {
  const changed = launch.settings.filter(Story.isChanged)
  return changed.length === 0 ? empty("Every setting has its default.") : table(
    ["setting", "value", "default", "unit"],
    changed.map(({ default: usual, name, unit = "", value }) =>
      row(named(name), cell(h("strong", {}, textOf(value))), cell(textOf(usual)), cell(unit))
    ),
    "settings that differ from their defaults"
  )
}

const folded = (title: string, fields: ReadonlyArray<readonly [string, Value]>): Child =>
  fields.length === 0 ? undefined : h(
    "details",
    {},
    h("summary", {}, title),
    table(["setting", "value"], fields.map(([name, value]) => row(named(name), cell(textOf(value)))), title)
  )

const settings = ({ identity, launch, settings }: Opened): ReadonlyArray<Child> => [
  ...(launch === undefined
    ? []
    : [
      h("h3", {}, "Settings that differ from their defaults"),
      changedTable(launch),
      folded(
        "Settings at their defaults",
        launch.settings.filter((setting) => !Story.isChanged(setting)).map(({ name, value }) => [name, value])
      )
    ]),
  folded("The whole configuration", flat({ ...identity, ...settings }))
]

const gibibytes = (bytes: number | null) => bytes === null ? "" : `${(bytes / 2 ** 30).toFixed(0)} GiB of memory`

const facts = (story: Story.Story<null>, { identity, launch, program, settings, version }: Opened): Child => {
  const seed = settings["seed"] ?? identity["seed"]
  const { machine: { cores, memory, processor, system } = {}, versions = { "effect-rl": version } } = launch ?? {}
  return h(
    "p",
    { class: "facts" },
    ...dotted([
      `program ${Text.foreign(program)}`,
      `model ${Text.foreign(Story.model(story))}`,
      ...(seed === undefined ? [] : [`seed ${textOf(seed)}`]),
      ...Object.entries(versions).map(([name, number]) => `${name} ${number}`),
      ...(system === undefined ? [] : [`${processor}, ${cores} cores, ${gibibytes(memory ?? null)}, ${system}`])
    ])
  )
}

const command = ({ launch }: Opened): Child =>
  launch === undefined ?
    empty("The command was not recorded: this run was started by a program, or by an older version.")
    : h(
      "div",
      { class: "command" },
      h("pre", {}, Text.foreign(launch.command)),
      copy(() => launch.command, "copy"),
      h("p", { class: "facts" }, `in ${Text.foreign(launch.directory)}`)
    )

export const panelOf = (story: Story.Story<null>): Child => {
  const { opened } = story
  return opened === undefined
    ? undefined
    : panel("What was run", command(opened), facts(story, opened), ...settings(opened))
}
