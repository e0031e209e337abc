/** Command lines that name the command of an agent where others name a recipe. */

/** The recipe that starts an agent by its command. */
export const recipe = "agent"

const verbs = new Set(["train", "eval", "play"])

/** Whether the command of an agent is among the arguments. */
export const isGiven = (args: ReadonlyArray<string>) =>
  args.some((arg) => arg === "--agent" || arg.startsWith("--agent="))

/** The arguments with the name of that recipe after the verb, where they have none. */
export const named = (args: ReadonlyArray<string>): ReadonlyArray<string> => {
  const after = args.findIndex((arg) => !arg.startsWith("-")) + 1
  const isWithout = verbs.has(args[after - 1] ?? "") && (args[after] ?? "-").startsWith("-")
  return isWithout && isGiven(args) ? args.toSpliced(after, 0, recipe) : args
}
