/** Help pages that list a command's flags in sections, starting with the flags that most people need. */
import * as Command from "effect/cli/Command"
import type { HelpDoc } from "effect/cli/HelpDoc"
import * as Context from "effect/Context"
import * as Option from "effect/Option"

/** A titled group of flags; `names` have no leading dashes. */
export interface Section {
  readonly title: string
  readonly flags: ReadonlyArray<string>
}

const Sections = Context.Reference<ReadonlyArray<Section>>("@effect-rl/cli/Help/Sections", {
  defaultValue: () => []
})

/** Annotates a command with the sections of its flags. Flags in no section are listed first. */
export const withSections = (sections: ReadonlyArray<Section>) => Command.annotate(Sections, sections)

type Flags = HelpDoc["flags"]

const label = ({ aliases, name, type }: Flags[number]) =>
  [`--${name}`, ...aliases].join(", ") + (type === "boolean" ? "" : ` ${type}`)

/** Effect's help pages align only short names in lists of commands, so names are padded to one width here. */
const rows = (flags: Flags) => {
  const width = Math.max(...flags.map((flag) => label(flag).length)) + 2
  return flags.map((flag) => ({
    name: label(flag).padEnd(width),
    alias: undefined,
    shortDescription: undefined,
    description: Option.getOrElse(flag.description, () => "")
  }))
}

/** The help page with its flags in sections. Effect's pages allow titles only for lists of commands, so each section is such a list. */
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
