/** Adding two numbers up to 100, the last number of the response is the answer; problems in upstream's order. */
import { type ChatModel, Message, ProblemEnv } from "@effect-rl/core"
import * as NumpyRandomState from "../random/NumpyRandomState.ts"
import * as AdditionDataset from "./AdditionDataset.ts"

const question = (x: number, y: number) => `What is ${x} + ${y}?`

/** One worked example: 4 + 5 is 9. */
export const example: ReadonlyArray<Message.Message> = [Message.user(question(4, 5)), Message.assistant("9")]

/** The last whole number of a response, thousands separators left out. */
const lastInteger = (response: string) => response.replaceAll(",", "").match(/-?\d+/g)?.at(-1)

/**
 * Any response that ends by itself is well formed.
 *
 * @example
 * const env = PlainAddition.env(model, 40, 2)
 *
 * @see tinker-cookbook `ArithmeticEnv`
 */
export const env = (model: Pick<ChatModel.ChatModel, "renderer">, x: number, y: number): ProblemEnv.ProblemEnv =>
  ProblemEnv.make({
    model,
    question: question(x, y),
    referenceAnswer: String(x + y),
    prefix: example,
    checkAnswer: (response) => Number(lastInteger(response) ?? NaN) === x + y
  })

/** The problems of a batch, which its index alone decides. */
export const problems = (batch: number, count: number): ReadonlyArray<readonly [x: number, y: number]> => {
  const next = NumpyRandomState.integersBelow(101, batch)
  return Array.from({ length: count }, () => [next(), next()] as const)
}

/** @see tinker-cookbook `ArithmeticDataset` */
export const dataset = (options: AdditionDataset.Options) =>
  AdditionDataset.make({ name: "plain-addition", env, pairs: problems }, options)
