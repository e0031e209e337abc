/** The command that starts an agent, with placeholders for its task. It runs without a shell. */
import { InvalidOption } from "@effect-rl/core"
import * as Effect from "effect/Effect"

/** The placeholders of a command and what each one stands for. */
export const places = {
  task: "the text of the task",
  file: "the name of a file with that text",
  model: "the name of the model",
  verdict: "the name of a file into which the agent writes its verdict"
} as const

export type Place = keyof typeof places

/** A command split into its arguments. */
export interface AgentCommand {
  readonly words: readonly [program: string, ...ReadonlyArray<string>]
  /** Whether the command contains a placeholder. */
  readonly has: (place: Place) => boolean
}

const word = /(?:"[^"]*"|'[^']*'|[^\s"'])+/g
const quoted = /"([^"]*)"|'([^']*)'/g
const place = /\{(task|file|model|verdict)\}/g

/** Whether the text has an unpaired quote. */
const isUnclosed = (text: string) => /["']/.test(text.replace(quoted, ""))

/**
 * Splits a command at white space outside quotes. Fails if the command is empty or a quote is not closed.
 *
 * @example
 * const command = AgentCommand.parse(`node my-agent.js --ask {task}`)
 */
export const parse = (text: string): Effect.Effect<AgentCommand, InvalidOption.InvalidOption> => {
  const wrong = (expected: string) =>
    Effect.fail(new InvalidOption.InvalidOption({ field: "agent", found: JSON.stringify(text), expected }))
  if (isUnclosed(text)) return wrong("as many closing quotes as opening ones")
  const [program, ...rest] = (text.match(word) ?? []).map((found) =>
    found.replace(quoted, (_, double?: string, single?: string) => double ?? single ?? "")
  )
  if (program === undefined) return wrong("a program and its arguments, such as \"node my-agent.js {task}\"")
  const words = [program, ...rest] as const
  return Effect.succeed({ words, has: (place) => words.some((one) => one.includes(`{${place}}`)) })
}

/** The arguments with their placeholders filled in. Placeholders inside the inserted values are not replaced. */
export const filled = (
  { words: [program, ...rest] }: AgentCommand,
  values: Readonly<Record<Place, string>>
): readonly [string, ...ReadonlyArray<string>] => {
  const fill = (text: string) =>
    text.replace(place, (whole, name: string) => Object.entries(values).find(([key]) => key === name)?.[1] ?? whole)
  return [fill(program), ...rest.map(fill)]
}
