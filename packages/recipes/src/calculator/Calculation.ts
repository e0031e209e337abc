/** Expressions to work out. Some are never trained on. */
import { Seed } from "@effect-rl/core"
import * as Result from "effect/Result"
import * as Rational from "../grading/Rational.ts"
import * as Expression from "./Expression.ts"

export interface Calculation {
  readonly expression: string
  readonly answer: string
}

const signs = ["+", "-", "*"] as const

/** `(a ± b) * c ± d` and the like, of numbers with two and three digits. */
const draw = (next: () => number): string => {
  const number = (most: number) => 10 + Math.floor(next() * (most - 9))
  const sign = () => signs[Math.floor(next() * signs.length)] ?? "+"
  return `(${number(999)} ${sign()} ${number(99)}) * ${number(99)} ${sign()} ${number(999)}`
}

/** One of sixteen is held out. */
export const isHeldOut = (expression: string): boolean => Seed.derive(0, expression) % 16 === 0

const worked = (expression: string): Calculation => ({
  expression,
  answer: Result.match(Expression.evaluate(expression), {
    onFailure: ({ message }) => message,
    onSuccess: Rational.toString
  })
})

/** `count` different ones, given by the seed. */
const distinct = (count: number, seed: number, isWanted: (expression: string) => boolean) => {
  const next = Seed.uniform(seed)
  const expressions = new Set<string>()
  while (expressions.size < count) {
    const expression = draw(next)
    if (isWanted(expression)) expressions.add(expression)
  }
  return [...expressions].map(worked)
}

/**
 * Those of a batch.
 *
 * @example
 * const [first] = Calculation.batch(0, 16, 7)
 */
export const batch = (index: number, count: number, seed: number): ReadonlyArray<Calculation> =>
  distinct(count, Seed.derive(seed, "calculator", index), (expression) => !isHeldOut(expression))

export const heldOut = (count: number): ReadonlyArray<Calculation> => distinct(count, 0, isHeldOut)
