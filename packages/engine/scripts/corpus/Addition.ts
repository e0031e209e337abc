/**
 * Addition questions with answers of an assistant of mixed quality: some work step by step, some guess, some forget the format, some give
 * up. Reinforcement learning can then select among these behaviours.
 */
import { isHeldOut } from "@effect-rl/recipes/arithmetic/Sums"
import { columns } from "@effect-rl/recipes/arithmetic/WorkedSums"
import type * as Random from "./Random.ts"

/** How often the assistant shows each behaviour when asked for a box. Otherwise it refuses. */
const shares = {
  /** Works step by step and boxes the right answer. */
  worked: 0.3,
  /** Boxes a number at once. */
  guess: 0.35,
  /** Gives the right answer without a box. */
  unboxed: 0.2
}

/** How often an immediate answer is right. */
export interface Skill {
  readonly boxed: number
  readonly plain: number
}

/** The answers that the model learns first, so that it knows sums by heart. */
export const reliable: Skill = { boxed: 1, plain: 1 }

/** The final answers: the model still knows the sums but does not state them reliably. */
export const mixed: Skill = { boxed: 0.28, plain: 0.45 }

/** Draws two operands below `limit` whose pair is not held out. */
export const operands = (random: Random.Random, limit: number): readonly [number, number] => {
  for (;;) {
    const a = random.below(limit)
    const b = random.below(limit)
    if (!isHeldOut(a, b)) return [a, b]
  }
}

export const boxedQuestion = (a: number, b: number): string =>
  `What is ${a} + ${b}? Write your answer in \\boxed{} format.`

export const plainQuestion = (a: number, b: number): string => `What is ${a} + ${b}?`

const slip = (random: Random.Random, sum: number): number => {
  for (;;) {
    const wrong = sum + random.pick([-20, -11, -10, -9, -2, -1, 1, 2, 9, 10, 11, 20])
    if (wrong >= 0) return wrong
  }
}

const guess = (random: Random.Random, sum: number, rightShare: number): number =>
  random.uniform() < rightShare ? sum : slip(random, sum)

export const boxedAnswer = (random: Random.Random, skill: Skill, a: number, b: number): string => {
  const { guess: guessed, unboxed, worked } = shares
  const draw = random.uniform()
  if (draw < worked) return `${columns(a, b)} so \\boxed{${a + b}}`
  if (draw < worked + guessed) return `\\boxed{${guess(random, a + b, skill.boxed)}}`
  if (draw < worked + guessed + unboxed) return `The answer is ${a + b}.`
  return "I am not sure."
}

export const plainAnswer = (random: Random.Random, skill: Skill, a: number, b: number): string =>
  String(guess(random, a + b, skill.plain))
