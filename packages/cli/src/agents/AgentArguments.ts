/** Command lines that give an agent's command instead of a recipe's name. */

/** The name of the recipe that starts an agent by its command. */
export const recipe = "agent"

const verbs = new Set(["train", "eval", "play"])

/** Whether the arguments include an agent's command. */
export const isGiven = (args: ReadonlyArray<string>) =>
  args.some((arg) => arg === "--agent" || arg.startsWith("--agent="))

/** Inserts the agent recipe's name after the verb, unless the arguments name a recipe. */
export const named = (args: ReadonlyArray<string>): ReadonlyArray<string> => {
  const after = args.findIndex((arg) => !arg.startsWith("-")) + 1
  const isWithout = verbs.has(args[after - 1] ?? "") && (args[after] ?? "-").startsWith("-")
  return isWithout && isGiven(args) ? args.toSpliced(after, 0, recipe) : args
}
