/** An environment that asks for the value of an expression and offers a calculator tool. */
import { type ChatModel, EnvMetric, FunctionTool, Message, Score, ToolEnv } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Rational from "../grading/Rational.ts"
import * as Expression from "./Expression.ts"

/** The calculator tool. It answers `{"error": …}` if an expression cannot be evaluated. */
export const calculator = FunctionTool.make({
  name: "calculator",
  description: "Works out an expression of numbers, + - * / and parentheses, exactly. Fractions come as a/b.",
  parameters: Schema.Struct({
    expression: Schema.String.annotate({ description: "Such as (3 + 4) * 12" })
  }),
  handler: ({ expression }) => Effect.map(Effect.fromResult(Expression.evaluate(expression)), Rational.toString)
})

export const question = (expression: string) =>
  `What is ${expression}? Use the calculator, then answer with the number alone.`

/** The last number in an answer. Thousands separators are ignored. */
const numberIn = (text: string) => {
  const last = text.replaceAll(/(?<=\d),(?=\d{3})/g, "").match(/-?\d+(?:\.\d+|\/\d+)?/g)?.at(-1)
  return last === undefined ? Option.none() : Rational.parse(last)
}

export const maxTurns = 4

export interface Options {
  readonly model: Pick<ChatModel.ChatModel, "renderer">
  readonly expression: string
  /** The value of the expression. */
  readonly answer: string
}

const isRight = (answer: string, text: string) =>
  Option.exists(
    numberIn(text),
    (given) => Option.exists(Rational.parse(answer), (right) => Rational.equals(given, right))
  )

/**
 * An environment with up to four turns, each of which may call the calculator. The reward is 1 if the last number in the last message is
 * right, else 0.
 *
 * @example
 * const env = CalculatorEnv.make({ model, expression: "17 * 23", answer: "391" })
 */
export const make = ({ answer, expression, model }: Options) =>
  ToolEnv.make({
    model,
    tools: [calculator],
    messages: [Message.user(question(expression))],
    reference: answer,
    maxTurns,
    grade: (messages) => {
      const last = messages.at(-1)
      const correct = last?.role === "assistant" && isRight(answer, Message.text(last))
      const called = messages.some(({ role }) => role === "tool")
      return Effect.succeed({
        reward: Number(correct),
        score: Score.correct(correct),
        metrics: { used_calculator: EnvMetric.rate(called) }
      })
    }
  })
