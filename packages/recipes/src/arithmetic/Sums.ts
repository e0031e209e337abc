/** Sums of two numbers as problems, and the sums that are never trained on. */
import { type ChatModel, Evaluator, Message, ProblemEnv, ProblemGroupBuilder, type RLDataset } from "@effect-rl/core"
import { Seed } from "@effect-rl/core/environments"
import type { Renderer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as MathEnv from "../math/MathEnv.ts"
import * as NumpyRandomState from "../random/NumpyRandomState.ts"

export type Pair = readonly [a: number, b: number]

type Model = Pick<ChatModel.ChatModel, "renderer">

/** A way to pose sums, and the pairs in each batch. */
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
 * The 256 held-out pairs, in the order in which they are drawn. Each pair has its smaller number first. Neither order of a pair occurs in
 * `trainingPairs` or in the pretraining data of the embedded models. `plain` uses the cookbook's problems and excludes no pairs.
 *
 * The pairs are computed from a fixed seed. Both operands are drawn below 100 with `Seed.uniform` (mulberry32) until there are 256 of the
 * 5050 unordered pairs. Repeated pairs are skipped, and so is `4 + 5`, the worked example of the few-shot prompt.
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

/** All ordered pairs of numbers below 100, except the held-out pairs. */
export const trainingPairs: ReadonlyArray<Pair> = operands.flatMap((a) =>
  operands.flatMap((b) => isHeldOut(a, b) ? [] : [[a, b] as const])
)

/** The question for a sum, without instructions about the answer's format. */
export const question = ([a, b]: Pair) => `What is ${a} + ${b}?`

/** The answer to the last sum that the text asks for, so worked examples before it are ignored; none if it asks for no sum. */
export const answerTo = (prompt: string): Option.Option<string> =>
  Option.map(
    Option.fromUndefinedOr([...prompt.matchAll(/(?:What is|Calculate) (\d+) \+ (\d+)[?.]/g)].at(-1)),
    ([, a, b]) => String(Number(a) + Number(b))
  )

/** Asks for the answer in a box. Pairs are drawn from `trainingPairs` with replacement. */
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

/** The last integer in a response. Thousands separators are ignored. */
const lastInteger = (response: string) => response.replaceAll(",", "").match(/-?\d+/g)?.at(-1)

/**
 * Sums of numbers up to 100, after a worked example. The last number in the response is the answer, and every response that ends with a
 * stop token is well formed. The problems are the cookbook's and depend only on the batch's index.
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

/**
 * Sums for SmolLM2, without an example or a box. The last number in the response is the answer. A held-out pair is
 * drawn again.
 */
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
 * A dataset of groups of attempts at the sums of a kind.
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

/** Each held-out pair in both orders, with a boxed answer: 512 problems, one attempt each. */
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

/** The share of right answers to `heldOut`, sampled at temperature 1. */
export const evaluator = (model: ChatModel.ChatModel, maxTokens: number) =>
  Evaluator.testSet({ name: "held_out", groups: heldOut(model), maxTokens })
