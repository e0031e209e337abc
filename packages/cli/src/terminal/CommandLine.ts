/** The command line arguments of this process. */
import * as Context from "effect/Context"

/** The arguments after the program's name, as typed. */
export const CommandLine = Context.Reference<ReadonlyArray<string>>("@effect-rl/cli/terminal/CommandLine", {
  defaultValue: () => []
})

const quoted = (argument: string) =>
  /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`

/** Quotes words as one line that a shell splits into the same words. */
export const quote = (words: ReadonlyArray<string>): string => words.map(quoted).join(" ")
