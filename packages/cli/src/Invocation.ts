/** Help pages and one-line error messages with suggestions for mistakes on the command line. */
import { Suggestion } from "@effect-rl/core/program"
import * as CliConfig from "effect/cli/CliConfig"
import type * as CliError from "effect/cli/CliError"
import * as CliOutput from "effect/cli/CliOutput"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import type { HelpDoc } from "effect/cli/HelpDoc"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as FlagNames from "./FlagNames.ts"
import * as Help from "./Help.ts"
import * as Untrusted from "./terminal/Untrusted.ts"

const subcommandNames = ({ subcommands = [] }: HelpDoc) =>
  subcommands.flatMap(({ commands }) => commands.map(({ name }) => name))

const flagNames = ({ flags, globalFlags = [] }: HelpDoc) => [...flags, ...globalFlags].map(({ name }) => name)

/** A hint for an unknown flag. It suggests only the likeliest flag. */
const flagHint = (option: string, doc: HelpDoc) => {
  const name = option.replace(/^-+/, "")
  const known = flagNames(doc)
  const close = FlagNames.meant(name, known) ?? Suggestion.nearest(name, known)
  return close === undefined ? "" : `; did you mean --${close}?`
}

/** The choices of a flag. Effect keeps them only in the flag's description. */
const choicesIn = (description: string) => /\(choices: ([^)]*)\)/.exec(description)?.[1]?.split(", ") ?? []

/** The flag for which a value was meant: in `--loss grpo`, the value is an algorithm. */
const valueHint = (option: string, value: string, { flags }: HelpDoc) => {
  const other = flags.find(({ description, name }) =>
    name !== option && Option.exists(description, (text) => choicesIn(text).includes(value))
  )
  return other === undefined ? "" : `; did you mean --${other.name} ${value}?`
}

const takesRecipe = ({ commandPath = [] }: HelpDoc) => ["train", "play"].includes(commandPath.at(-1) ?? "")

/** What a flag expects, in plain words instead of Effect's schema terms. */
const expectation = (expected: string) => {
  switch (expected) {
    case "Expected a string representing a finite number":
      return "a number"
    case "Expected an integer":
      return "a whole number"
    default:
      return expected.replace(/^Expected:? /, "")
  }
}

const describe = (error: CliError.NonShowHelpErrors, doc: HelpDoc): string => {
  switch (error._tag) {
    case "UnknownSubcommand":
      return `unknown ${takesRecipe(doc) ? "recipe" : "command"} "${error.subcommand}"; ` +
        Suggestion.describe(error.subcommand, subcommandNames(doc))
    case "UnrecognizedOption":
      return `unknown flag ${error.option}${flagHint(error.option, doc)}`
    case "InvalidValue": {
      const name = error.kind === "flag" ? `--${error.option}` : error.option
      const expected = expectation(error.expected)
      if (error.value === "") return `${name} needs ${expected}`
      return `${name} is "${error.value}", expected ${expected}${valueHint(error.option, error.value, doc)}`
    }
    default:
      return error.message.split("\n").join(" ")
  }
}

const present = Effect.fnUntraced(function*(event: CliOutput.Presenter.Event) {
  if (event._tag === "Help") {
    return yield* CliOutput.defaultPresenter.present({ ...event, helpDoc: Help.sectioned(event.helpDoc) })
  }
  if (event._tag === "Version") return yield* CliOutput.defaultPresenter.present(event)
  for (const error of event.errors) {
    yield* Console.error(`error: ${Untrusted.show(describe(error, event.helpDoc))}`)
  }
  yield* Console.error(`see: ${event.commandPath.join(" ")} --help`)
})

/**
 * Shows short messages for mistakes instead of the whole help page, and hides those of Effect's global flags that this command does not
 * need.
 *
 * @example
 * Root.run("1.0.0")(["runs", "out"]).pipe(Effect.provide(Invocation.layer))
 */
export const layer: Layer.Layer<never> = Layer.merge(
  CliOutput.layerPresenter({ present }),
  CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })
)
