/** The help of a command: its flags in sections, those that most people need first. */
import * as Command from "effect/cli/Command"
import type { HelpDoc } from "effect/cli/HelpDoc"
import * as Context from "effect/Context"
import * as Option from "effect/Option"

/** Flags that are listed under a title, by their names without dashes. */
export interface Section {
  readonly title: string
  readonly flags: ReadonlyArray<string>
}

const Sections = Context.Reference<ReadonlyArray<Section>>("@effect-rl/cli/Help/Sections", {
  defaultValue: () => []
})

/** Lists flags of a command under titles; those of no section come first. */
export const withSections = (sections: ReadonlyArray<Section>) => Command.annotate(Sections, sections)

type Flags = HelpDoc["flags"]

const label = ({ aliases, name, type }: Flags[number]) =>
  [`--${name}`, ...aliases].join(", ") + (type === "boolean" ? "" : ` ${type}`)

/** Lists of commands align short names alone, so the names get their width here. */
const rows = (flags: Flags) => {
  const width = Math.max(...flags.map((flag) => label(flag).length)) + 2
  return flags.map((flag) => ({
    name: label(flag).padEnd(width),
    alias: undefined,
    shortDescription: undefined,
    description: Option.getOrElse(flag.description, () => "")
  }))
}

/** The page with its flags in their sections. Effect's pages have titles over lists of commands alone, so a section is such a list. */
export const sectioned = (page: HelpDoc): HelpDoc => {
  const sections = Context.get(page.annotations, Sections)
  const named = new Set(sections.flatMap(({ flags }) => flags))
  return {
    ...page,
    flags: page.flags.filter(({ name }) => !named.has(name)),
    subcommands: [
      ...page.subcommands ?? [],
      ...sections.flatMap(({ flags, title }) => {
        const [first, ...others] = rows(page.flags.filter(({ name }) => flags.includes(name)))
        return first === undefined ? [] : [{ group: title, commands: [first, ...others] as const }]
      })
    ]
  }
}
