/** Adding two numbers below 100, the answer in a box. Some pairs are never trained on. */
import {
  type ChatModel,
  type ProblemEnv,
  ProblemGroupBuilder,
  type Renderer,
  type RLDataset,
  Seed
} from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as MathEnv from "../math/MathEnv.ts"
import { heldOutPairs, isHeldOut } from "./HeldOutPairs.ts"

type Pair = readonly [a: number, b: number]

const operands = Array.from({ length: 100 }, (_, operand) => operand)

/** All ordered pairs but those held out. */
const trainingPairs: ReadonlyArray<Pair> = operands.flatMap((a) =>
  operands.flatMap((b) => isHeldOut(a, b) ? [] : [[a, b] as const])
)

export const env = (model: Pick<ChatModel.ChatModel, "renderer">, a: number, b: number): ProblemEnv.ProblemEnv =>
  MathEnv.make({ model, problem: `What is ${a} + ${b}?`, answer: String(a + b) })

export interface Options {
  readonly model: Pick<ChatModel.ChatModel, "renderer">
  readonly batches: number
  /** Problems in a batch. */
  readonly groups: number
  readonly groupSize: number
}

/** Draws every problem anew, with replacement, from the pairs not held out. */
export const dataset = (options: Options): RLDataset.RLDataset<Renderer.RendererError> => ({
  length: options.batches,
  fingerprint: `boxed-addition-below-100/${trainingPairs.length}-pairs/${options.groups}x${options.groupSize}`,
  batch: (index, seed) =>
    Effect.sync(() => {
      const next = Seed.uniform(Seed.derive(seed, "BoxedAddition", index))
      return Array.from({ length: options.groups }, (_, group) => {
        const [a, b] = trainingPairs[Math.floor(next() * trainingPairs.length)] ?? [0, 0]
        return ProblemGroupBuilder.make({
          key: `${group}/${a}+${b}`,
          size: options.groupSize,
          env: () => env(options.model, a, b)
        })
      })
    })
})

/** Each held-out pair in both orders: 512 problems, one attempt each. */
export const heldOut = (model: Pick<ChatModel.ChatModel, "renderer">) =>
  heldOutPairs.flatMap(([a, b], index) =>
    [[a, b] as const, [b, a] as const].map(([left, right], order) =>
      ProblemGroupBuilder.make({
        key: `${index}.${order}/${left}+${right}`,
        size: 1,
        env: () => env(model, left, right)
      })
    )
  )
