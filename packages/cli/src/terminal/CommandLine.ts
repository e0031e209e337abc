/** The arguments of this process. */
import * as Context from "effect/Context"

/** The arguments after the name of the program, as they were typed. */
export const CommandLine = Context.Reference<ReadonlyArray<string>>("@effect-rl/cli/terminal/CommandLine", {
  defaultValue: () => []
})

const quoted = (argument: string) =>
  /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`

/** The words as a line that a shell reads back as the same words. */
export const quote = (words: ReadonlyArray<string>): string => words.map(quoted).join(" ")
