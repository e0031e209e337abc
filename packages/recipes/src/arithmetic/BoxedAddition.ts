/** Adding two numbers below 100, the answer in a box. Some pairs are never trained on. */
import { type ChatModel, type ProblemEnv, ProblemGroupBuilder } from "@effect-rl/core"
import { Seed } from "@effect-rl/core/environments"
import * as MathEnv from "../math/MathEnv.ts"
import * as AdditionDataset from "./AdditionDataset.ts"
import { heldOutPairs, isHeldOut } from "./HeldOutPairs.ts"

type Pair = readonly [a: number, b: number]

const operands = Array.from({ length: 100 }, (_, operand) => operand)

/** All ordered pairs but those held out. */
export const trainingPairs: ReadonlyArray<Pair> = operands.flatMap((a) =>
  operands.flatMap((b) => isHeldOut(a, b) ? [] : [[a, b] as const])
)

export const env = (model: Pick<ChatModel.ChatModel, "renderer">, a: number, b: number): ProblemEnv.ProblemEnv =>
  MathEnv.make({ model, problem: `What is ${a} + ${b}?`, answer: String(a + b) })

/** The problems of a batch, each drawn anew, with replacement, from the pairs not held out. */
export const pairs = (batch: number, count: number, seed: number): ReadonlyArray<Pair> => {
  const next = Seed.uniform(Seed.derive(seed, "BoxedAddition", batch))
  return Array.from({ length: count }, () => trainingPairs[Math.floor(next() * trainingPairs.length)] ?? [0, 0])
}

/**
 * Batches of attempts at `pairs`.
 *
 * @example
 * const dataset = BoxedAddition.dataset({ model, batches: 20, groupsPerBatch: 32, groupSize: 8 })
 */
export const dataset = (options: AdditionDataset.Options) =>
  AdditionDataset.make({ name: `boxed-addition-below-100/${trainingPairs.length}-pairs`, env, pairs }, options)

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
