/** Conversations in which a sum is worked out before it is answered, to imitate or to prefer. */
import { Message, type SupervisedDataset } from "@effect-rl/core"
import { Seed } from "@effect-rl/core/environments"
import * as MathEnv from "../math/MathEnv.ts"
import * as BoxedAddition from "./BoxedAddition.ts"
import { columns } from "./ColumnAddition.ts"
import { heldOutPairs } from "./HeldOutPairs.ts"

type Pair = readonly [a: number, b: number]

const question = ([a, b]: Pair) => Message.user(MathEnv.question(`What is ${a} + ${b}?`))

/**
 * The question and its right answer, worked out.
 *
 * @example
 * const dataset = Preferences.pairs([{ chosen: WorkedSum.right([4, 7]), rejected: WorkedSum.wrong([4, 7]) }], {
 *   model,
 *   batchSize: 1
 * })
 */
export const right = ([a, b]: Pair): SupervisedDataset.Conversation => [
  question([a, b]),
  Message.assistant(`${columns(a, b)} so \\boxed{${a + b}}`)
]

const slips = [-20, -11, -10, -9, -2, -1, 1, 2, 9, 10, 11, 20]

/** A number that is not the sum but near it, the same at every call. */
const missed = ([a, b]: Pair) => {
  const possible = slips.map((slip) => a + b + slip).filter((sum) => sum >= 0)
  return possible[Seed.derive(a, "WorkedSum", b) % possible.length] ?? a + b + 1
}

/** The same question with a wrong answer: for odd `a` worked out up to the last step, for even `a` guessed. */
export const wrong = ([a, b]: Pair): SupervisedDataset.Conversation => [
  question([a, b]),
  Message.assistant(`${a % 2 === 1 ? `${columns(a, b)} so ` : ""}\\boxed{${missed([a, b])}}`)
]

/** A right and a wrong answer to one question, as conversations. */
export interface Preferred {
  readonly chosen: SupervisedDataset.Conversation
  readonly rejected: SupervisedDataset.Conversation
}

const preference = (pair: Pair): Preferred => ({ chosen: right(pair), rejected: wrong(pair) })

/** Examples and preferences of every pair that is not held out. */
export const examples = () => BoxedAddition.trainingPairs.map(right)
export const preferences = () => BoxedAddition.trainingPairs.map(preference)

/** Examples and preferences of the held-out pairs, each in one order. */
export const heldOutExamples = () => heldOutPairs.map(right)
export const heldOutPreferences = () => heldOutPairs.map(preference)
