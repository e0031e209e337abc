/** Expressions to work out. Some are never trained on. */
import { Seed } from "@effect-rl/core/environments"
import * as Result from "effect/Result"
import * as Rational from "../grading/Rational.ts"
import * as Expression from "./Expression.ts"

export interface Calculation {
  readonly expression: string
  readonly answer: string
}

const signs = ["+", "-", "*"] as const

/** Of two numbers with two digits, or `(a ± b) * c ± d` and the like of numbers with two and three. */
export const lengths = ["short", "long"] as const
export type Length = (typeof lengths)[number]

const draw = (next: () => number, length: Length): string => {
  const number = (most: number) => 10 + Math.floor(next() * (most - 9))
  const sign = () => signs[Math.floor(next() * signs.length)] ?? "+"
  if (length === "short") return `${number(99)} ${sign()} ${number(99)}`
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

/** `count` different calculations, given by the seed. */
const distinct = (count: number, length: Length, seed: number, isWanted: (expression: string) => boolean) => {
  const next = Seed.uniform(seed)
  const expressions = new Set<string>()
  while (expressions.size < count) {
    const expression = draw(next, length)
    if (isWanted(expression)) expressions.add(expression)
  }
  return [...expressions].map(worked)
}

/**
 * The calculations of a batch, none of which is held out.
 *
 * @example
 * const [first] = Calculation.batch(0, 16, "short", 7)
 */
export const batch = (index: number, count: number, length: Length, seed: number): ReadonlyArray<Calculation> =>
  distinct(count, length, Seed.derive(seed, "calculator", index), (expression) => !isHeldOut(expression))

export const heldOut = (count: number, length: Length): ReadonlyArray<Calculation> =>
  distinct(count, length, 0, isHeldOut)
