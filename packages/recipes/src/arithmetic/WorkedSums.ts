/** Conversations with sums worked out step by step, for imitation or preferences. */
import { Message, type SupervisedDataset } from "@effect-rl/core"
import { Seed } from "@effect-rl/core/environments"
import * as MathEnv from "../math/MathEnv.ts"
import { heldOutPairs, type Pair, question, trainingPairs } from "./Sums.ts"

/**
 * Column addition from the right, in the format that the embedded models were pretrained on: `7+8=15,4+2+1=7`.
 *
 * @example
 * WorkedSums.columns(47, 38)
 */
export const columns = (a: number, b: number): string => {
  const digits = (n: number) => String(n).split("").reverse().map(Number)
  const [as, bs] = [digits(a), digits(b)]
  let carry = 0
  return Array.from({ length: Math.max(as.length, bs.length) }, (_, i) => {
    const [x, y] = [as[i] ?? 0, bs[i] ?? 0]
    const total = x + y + carry
    const step = `${x}+${y}${carry === 1 ? "+1" : ""}=${total}`
    carry = total >= 10 ? 1 : 0
    return step
  }).join(",")
}

/** The question for a sum as a user message, with the instruction to put the answer in a box. */
export const asked = (pair: Pair) => Message.user(MathEnv.question(question(pair)))

/**
 * The question and its right answer, worked out step by step.
 *
 * @example
 * const dataset = Preferences.pairs([{ chosen: WorkedSums.right([4, 7]), rejected: WorkedSums.wrong([4, 7]) }], {
 *   model,
 *   batchSize: 1
 * })
 */
export const right = ([a, b]: Pair): SupervisedDataset.Conversation => [
  asked([a, b]),
  Message.assistant(`${columns(a, b)} so \\boxed{${a + b}}`)
]

const slips = [-20, -11, -10, -9, -2, -1, 1, 2, 9, 10, 11, 20]

/** A number near the sum but not equal to it. It depends only on the pair. */
const missed = ([a, b]: Pair) => {
  const possible = slips.map((slip) => a + b + slip).filter((sum) => sum >= 0)
  return possible[Seed.derive(a, "WorkedSum", b) % possible.length] ?? a + b + 1
}

/**
 * The same question with a wrong answer. If `a` is odd, the steps are right and only the final number is wrong; if `a` is even, the wrong
 * number comes without steps.
 */
export const wrong = ([a, b]: Pair): SupervisedDataset.Conversation => [
  asked([a, b]),
  Message.assistant(`${a % 2 === 1 ? `${columns(a, b)} so ` : ""}\\boxed{${missed([a, b])}}`)
]

/** A right and a wrong answer to one question, as conversations. */
export interface Preferred {
  readonly chosen: SupervisedDataset.Conversation
  readonly rejected: SupervisedDataset.Conversation
}

const preference = (pair: Pair): Preferred => ({ chosen: right(pair), rejected: wrong(pair) })

/** Worked examples of every pair that is not held out. */
export const examples = () => trainingPairs.map(right)
export const preferences = () => trainingPairs.map(preference)

/** Worked examples of the held-out pairs, each in one order. */
export const heldOutExamples = () => heldOutPairs.map(right)
export const heldOutPreferences = () => heldOutPairs.map(preference)
