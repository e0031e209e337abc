/** An environment with a question about a fact that the model can only find with a search tool. */
import { type ChatModel, EnvMetric, FunctionTool, Message, Score, ToolEnv } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Directory from "./Directory.ts"

/** A question about one person. The seed determines each person's room. */
export interface Problem {
  readonly name: string
  readonly seed: number
}

export interface Options extends Problem {
  readonly model: Pick<ChatModel.ChatModel, "renderer">
}

export const maxTurns = 3

export const question = (name: string) => `Which room does ${name} have?`

const searchIn = (directory: Directory.Directory, seed: number) =>
  FunctionTool.make({
    name: "search",
    description: "Finds people by name.",
    parameters: Schema.Struct({ query: Schema.String }),
    handler: ({ query }) => {
      const found = Directory.search(directory, query, seed)
      return Effect.succeed(
        found.length === 0 ? "Nobody found" : found.map(({ name, room }) => `${name}: ${room}`).join("\n")
      )
    }
  })

/**
 * An environment with up to three turns, each of which may search. A search finds at most three people. The reward is 1 if the last number
 * in the last message is the room, else 0.
 *
 * @example
 * const env = yield* LookupEnv.make({ model, name: "Ada Bell", seed: 1 })
 *
 * @see tinker-cookbook `recipes/search_tool`
 */
export const make = ({ model, name, seed }: Options) => {
  const directory = Directory.make(seed)
  const room = directory.find((entry) => entry.name === name)?.room
  return ToolEnv.make({
    model,
    tools: [searchIn(directory, seed)],
    messages: [Message.user(question(name))],
    ...(room !== undefined && { reference: room }),
    maxTurns,
    grade: (messages) => {
      const last = messages.at(-1)
      const correct = last?.role === "assistant" && Message.text(last).match(/\d+/g)?.at(-1) === room
      const searched = messages.some(({ role }) => role === "tool")
      return Effect.succeed({
        reward: Number(correct),
        score: Score.correct(correct),
        metrics: { searched: EnvMetric.rate(searched) }
      })
    }
  })
}
