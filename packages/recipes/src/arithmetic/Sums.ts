/** Sums of two numbers to ask for, and which of them are never trained on. */
import { type ChatModel, Evaluator, Message, ProblemEnv, ProblemGroupBuilder, type RLDataset } from "@effect-rl/core"
import { Seed } from "@effect-rl/core/environments"
import type { Renderer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as MathEnv from "../math/MathEnv.ts"
import * as NumpyRandomState from "../random/NumpyRandomState.ts"

export type Pair = readonly [a: number, b: number]

type Model = Pick<ChatModel.ChatModel, "renderer">

/** A way to ask for sums, and which of them a batch holds. */
export interface Kind {
  readonly name: string
  readonly env: (model: Model, a: number, b: number) => ProblemEnv.ProblemEnv
  readonly pairs: (batch: number, count: number, seed: number) => ReadonlyArray<Pair>
}

const heldOutSeed = 20260101
const heldOutCount = 256

const keyOf = (a: number, b: number): number => Math.min(a, b) * 1000 + Math.max(a, b)

const drawHeldOut = (): ReadonlyArray<Pair> => {
  const next = Seed.uniform(heldOutSeed)
  const taken = new Set([keyOf(4, 5)])
  const pairs: Array<Pair> = []
  while (pairs.length < heldOutCount) {
    const x = Math.floor(next() * 100)
    const y = Math.floor(next() * 100)
    if (taken.has(keyOf(x, y))) continue
    taken.add(keyOf(x, y))
    pairs.push([Math.min(x, y), Math.max(x, y)])
  }
  return pairs
}

/**
 * The 256 held-out pairs in ascending order within each pair, in the order they are drawn. In neither order are they in what the
 * embedded models were pretrained on, nor in `trainingPairs`; `plain` draws upstream's problems and leaves none out.
 *
 * The pairs come from a fixed seed, so they are computed where they are needed: operands are the first two draws below 100
 * from `Seed.uniform` (mulberry32) of the seed, skipping a pair already drawn and `4 + 5` (the worked example of the few-shot
 * prompt), until there are 256 of the 5050 unordered pairs.
 */
export const heldOutPairs: ReadonlyArray<Pair> = drawHeldOut()

const heldOutKeys: ReadonlySet<number> = new Set(heldOutPairs.map(([a, b]) => keyOf(a, b)))

/**
 * Whether `a + b` is held out, in either order.
 *
 * @example
 * const [trained, held] = [[2, 3], [40, 2]].map(([a = 0, b = 0]) => Sums.isHeldOut(a, b))
 */
export const isHeldOut = (a: number, b: number): boolean => heldOutKeys.has(keyOf(a, b))

const operands = Array.from({ length: 100 }, (_, operand) => operand)

/** All ordered pairs of numbers below 100 but those held out. */
export const trainingPairs: ReadonlyArray<Pair> = operands.flatMap((a) =>
  operands.flatMap((b) => isHeldOut(a, b) ? [] : [[a, b] as const])
)

/** The sum as it is asked for, without what to do with the answer. */
export const question = ([a, b]: Pair) => `What is ${a} + ${b}?`

/** The answer to the last sum in the text; worked examples come before it. */
export const answerTo = (prompt: string): Option.Option<string> =>
  Option.map(
    Option.fromUndefinedOr([...prompt.matchAll(/(?:What is|Calculate) (\d+) \+ (\d+)[?.]/g)].at(-1)),
    ([, a, b]) => String(Number(a) + Number(b))
  )

/** The answer in a box; each pair is drawn anew, with replacement, from `trainingPairs`. */
export const boxed: Kind = {
  name: `boxed-addition-below-100/${trainingPairs.length}-pairs`,
  env: (model, a, b) => MathEnv.make({ model, problem: question([a, b]), answer: String(a + b) }),
  pairs: (batch, count, seed) => {
    const next = Seed.uniform(Seed.derive(seed, "BoxedAddition", batch))
    return Array.from({ length: count }, () => trainingPairs[Math.floor(next() * trainingPairs.length)] ?? [0, 0])
  }
}

/** One worked example: 4 + 5 is 9. */
export const example: ReadonlyArray<Message.Message> = [Message.user(question([4, 5])), Message.assistant("9")]

/** The last whole number of a response, thousands separators left out. */
const lastInteger = (response: string) => response.replaceAll(",", "").match(/-?\d+/g)?.at(-1)

/**
 * Numbers up to 100 after a worked example; the last number of the response is the answer, and any response that ends by itself
 * is well formed. The problems are upstream's, which the batch's index alone decides.
 *
 * @see tinker-cookbook `ArithmeticEnv`, `ArithmeticDataset`
 */
export const plain: Kind = {
  name: "plain-addition",
  env: (model, a, b) =>
    ProblemEnv.make({
      model,
      question: question([a, b]),
      referenceAnswer: String(a + b),
      prefix: example,
      checkAnswer: (response) => Number(lastInteger(response) ?? NaN) === a + b
    }),
  pairs: (batch, count) => {
    const next = NumpyRandomState.integersBelow(101, batch)
    return Array.from({ length: count }, () => [next(), next()] as const)
  }
}

/** For SmolLM2: no example and no box, the last number of the response is the answer. Held-out pairs are drawn again. */
export const unboxed: Kind = {
  name: "smollm2-sums",
  env: (model, a, b) =>
    ProblemEnv.make({
      model,
      question: `Calculate ${a} + ${b}.`,
      referenceAnswer: String(a + b),
      checkAnswer: (response) => Number(response.match(/\d+/g)?.at(-1) ?? NaN) === a + b
    }),
  pairs: (batch, count, seed) => {
    const next = Seed.uniform(Seed.derive(seed, "SmolLm2", batch))
    const drawn: Array<Pair> = []
    while (drawn.length < count) {
      const [a, b] = [Math.floor(next() * 100), Math.floor(next() * 100)]
      if (!isHeldOut(a, b)) drawn.push([a, b])
    }
    return drawn
  }
}

export interface DatasetOptions {
  readonly model: Model
  readonly batches: number
  /** Problems in a batch. */
  readonly groupsPerBatch: number
  readonly groupSize: number
}

/**
 * Batches of attempts at the pairs of a kind.
 *
 * @example
 * const dataset = Sums.dataset(Sums.boxed, { model, batches: 20, groupsPerBatch: 32, groupSize: 8 })
 */
export const dataset = (
  { env, name, pairs }: Kind,
  { batches, groupSize, groupsPerBatch, model }: DatasetOptions
): RLDataset.RLDataset<Renderer.RendererError> => ({
  length: batches,
  fingerprint: `${name}/${groupsPerBatch}x${groupSize}`,
  batch: (index, seed) =>
    Effect.sync(() =>
      pairs(index, groupsPerBatch, seed).map(([a, b], group) =>
        ProblemGroupBuilder.make({ key: `${group}/${a}+${b}`, size: groupSize, env: () => env(model, a, b) })
      )
    )
})

/** Each held-out pair in both orders, the answer in a box: 512 problems, one attempt each. */
export const heldOut = (model: Model) =>
  heldOutPairs.flatMap(([a, b], index) =>
    [[a, b] as const, [b, a] as const].map(([left, right], order) =>
      ProblemGroupBuilder.make({
        key: `${index}.${order}/${left}+${right}`,
        size: 1,
        env: () => boxed.env(model, left, right)
      })
    )
  )

/** How often the answers to `heldOut` are right, sampled at temperature 1. */
export const evaluator = (model: ChatModel.ChatModel, maxTokens: number) =>
  Evaluator.testSet({ name: "held_out", groups: heldOut(model), maxTokens })
