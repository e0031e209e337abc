/** Arithmetic expressions as problems. Some are held out from training. */
import { Seed } from "@effect-rl/core/environments"
import * as Result from "effect/Result"
import * as Rational from "../grading/Rational.ts"
import * as Expression from "./Expression.ts"

export interface Calculation {
  readonly expression: string
  readonly answer: string
}

const signs = ["+", "-", "*"] as const

/**
 * `short`: two numbers with two digits, such as `27 * 63`. `long`: four numbers with two or three digits, such as `(481 - 36) * 52 + 907`.
 */
export const lengths = ["short", "long"] as const
export type Length = (typeof lengths)[number]

const draw = (next: () => number, length: Length): string => {
  const number = (most: number) => 10 + Math.floor(next() * (most - 9))
  const sign = () => signs[Math.floor(next() * signs.length)] ?? "+"
  if (length === "short") return `${number(99)} ${sign()} ${number(99)}`
  return `(${number(999)} ${sign()} ${number(99)}) * ${number(99)} ${sign()} ${number(999)}`
}

/** Whether an expression is held out. One in sixteen is. */
export const isHeldOut = (expression: string): boolean => Seed.derive(0, expression) % 16 === 0

const worked = (expression: string): Calculation => ({
  expression,
  answer: Result.match(Expression.evaluate(expression), {
    onFailure: ({ message }) => message,
    onSuccess: Rational.toString
  })
})

/** `count` different calculations, determined by the seed. */
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
 * The `count` different calculations of a training batch. None of them is held out.
 *
 * @example
 * const [first] = Calculation.batch(0, 16, "short", 7)
 */
export const batch = (index: number, count: number, length: Length, seed: number): ReadonlyArray<Calculation> =>
  distinct(count, length, Seed.derive(seed, "calculator", index), (expression) => !isHeldOut(expression))

export const heldOut = (count: number, length: Length): ReadonlyArray<Calculation> =>
  distinct(count, length, 0, isHeldOut)
