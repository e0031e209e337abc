/** An environment with a question whose answer the model finds in documents with a search tool. */
import { type ChatModel, EnvMetric, FunctionTool, Message, Score, ToolEnv } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { normalAnswer } from "../benchmarks/Extraction.ts"
import * as Bm25 from "./Bm25.ts"
import type { Question } from "./SearchCorpus.ts"

/** Where the answer is expected: after `Answer:` at the end of the last message, or as the whole last message. */
export type Form = "marked" | "alone"

export const forms = ["marked", "alone"] as const

export interface Options extends Question {
  readonly model: Pick<ChatModel.ChatModel, "renderer">
  readonly index: Bm25.Index
  readonly form: Form
  /** Most turns; each turn may search. */
  readonly maxTurns: number
  /** The most documents that a search returns. */
  readonly results: number
  /** Subtracted from the reward if the answer is not in the expected form. */
  readonly formatCoefficient: number
}

const instructions = `Answer questions with the help of a search over documents.

1. Before you search and after you read what was found, think step by step about what you know and what is missing.
2. Search for what is missing. A search matches words, so name what you look for.
3. Once you know enough, finish with a line "Answer: " and the answer in one to five words.`

const alone = "Answer with the value alone."

/** The answer in a last message; undefined if the form is `marked` and the message has no `Answer:` or several. */
const answerIn = (said: string, form: Form) => {
  if (form === "alone") return said
  const [, answer, more] = said.split("Answer:")
  return more === undefined ? answer : undefined
}

const searchIn = (index: Bm25.Index, results: number) =>
  FunctionTool.make({
    name: "search",
    description: "Searches documents by words.",
    parameters: Schema.Struct({ query: Schema.String }),
    handler: ({ query }) => {
      const found = Bm25.search(index, query, results)
      return Effect.succeed(found.length === 0 ? "Nothing found" : found.join("\n"))
    }
  })

/**
 * An environment in which every turn may search, and a turn without a search ends the episode. The reward is 1 if the
 * answer equals a correct one after both are normalized, else 0, minus the coefficient if the answer is not in the
 * expected form.
 *
 * @example
 * const env = SearchEnv.make({
 *   model,
 *   index: Bm25.make(["The mayor of Port Marlin is Abbot."]),
 *   question: "Who is the mayor of Port Marlin?",
 *   answers: ["Abbot"],
 *   form: "marked",
 *   maxTurns: 5,
 *   results: 3,
 *   formatCoefficient: 0.1
 * })
 *
 * @see tinker-cookbook `recipes/search_tool`
 */
export const make = ({ answers, form, formatCoefficient, index, maxTurns, model, question, results }: Options) => {
  const right = new Set(answers.map(normalAnswer))
  return ToolEnv.make({
    model,
    tools: [searchIn(index, results)],
    ...(form === "marked" && { systemPrompt: instructions }),
    messages: [Message.user(form === "marked" ? question : `${question} ${alone}`)],
    ...(answers[0] !== undefined && { reference: answers[0] }),
    maxTurns,
    grade: (messages) => {
      const last = messages.findLast(({ role }) => role === "assistant")
      const answer = answerIn(last === undefined ? "" : Message.text(last), form)
      const correct = answer !== undefined && right.has(normalAnswer(answer))
      const searched = messages.some(({ role }) => role === "tool")
      return Effect.succeed({
        reward: Number(correct) - (answer === undefined ? formatCoefficient : 0),
        score: Score.correct(correct),
        metrics: { format: EnvMetric.rate(answer !== undefined), searched: EnvMetric.rate(searched) }
      })
    }
  })
}
