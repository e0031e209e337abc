/** Adding two numbers up to 100, the last number of the response is the answer; problems in upstream's order. */
import {
  type ChatModel,
  Message,
  ProblemEnv,
  ProblemGroupBuilder,
  type Renderer,
  type RLDataset
} from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as NumpyRandomState from "./NumpyRandomState.ts"

const question = (x: number, y: number) => `What is ${x} + ${y}?`

/** One worked example: 4 + 5 is 9. */
export const example: ReadonlyArray<Message.Message> = [Message.user(question(4, 5)), Message.assistant("9")]

/** The last whole number of a response, thousands separators left out. */
const lastInteger = (response: string) => response.replaceAll(",", "").match(/-?\d+/g)?.at(-1)

/**
 * Any response that ends by itself is well formed.
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

export interface Options {
  readonly model: Pick<ChatModel.ChatModel, "renderer">
  readonly batches: number
  /** Problems in a batch. */
  readonly groups: number
  readonly groupSize: number
}

/** @see tinker-cookbook `ArithmeticDataset` */
export const dataset = (options: Options): RLDataset.RLDataset<Renderer.RendererError> => ({
  length: options.batches,
  fingerprint: `plain-addition/${options.groups}x${options.groupSize}`,
  batch: (index) =>
    Effect.sync(() =>
      problems(index, options.groups).map(([x, y], group) =>
        ProblemGroupBuilder.make({
          key: `${group}/${x}+${y}`,
          size: options.groupSize,
          env: () => env(options.model, x, y)
        })
      )
    )
})
