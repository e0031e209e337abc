/** The command that starts an agent, and how it is handed its task. No shell reads it. */
import { InvalidOption } from "@effect-rl/core"
import * as Effect from "effect/Effect"

/** What the places of a command stand for. */
export const places = {
  task: "the text of the task",
  file: "the name of a file with that text",
  model: "the name of the model",
  verdict: "the name of a file into which the agent writes its verdict"
} as const

export type Place = keyof typeof places

/** A command, divided into its arguments. */
export interface AgentCommand {
  readonly words: readonly [program: string, ...ReadonlyArray<string>]
  /** Whether a place occurs in it. */
  readonly has: (place: Place) => boolean
}

const word = /(?:"[^"]*"|'[^']*'|[^\s"'])+/g
const quoted = /"([^"]*)"|'([^']*)'/g
const place = /\{(task|file|model|verdict)\}/g

/** One quote too many, or too few. */
const isUnclosed = (text: string) => /["']/.test(text.replace(quoted, ""))

/**
 * The arguments of a command, divided at white space outside of quotes.
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

/** The arguments with what their places stand for. What is put in is not read again. */
export const filled = (
  { words: [program, ...rest] }: AgentCommand,
  values: Readonly<Record<Place, string>>
): readonly [string, ...ReadonlyArray<string>] => {
  const fill = (text: string) =>
    text.replace(place, (whole, name: string) => Object.entries(values).find(([key]) => key === name)?.[1] ?? whole)
  return [fill(program), ...rest.map(fill)]
}
