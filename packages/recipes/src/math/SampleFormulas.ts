/** Generated problems whose answers are fractions, numbers and polynomials, for a run that needs no download. */
import * as Option from "effect/Option"
import * as Rational from "../grading/Rational.ts"
import type { Problem } from "../gsm8k/Gsm8kRow.ts"
import * as Split from "../gsm8k/Split.ts"

type Exercise = (a: number, b: number, c: number) => Problem

const lowestTerms = (numerator: number, denominator: number) =>
  Option.match(Rational.parse(`${numerator}/${denominator}`), { onNone: () => "", onSome: Rational.toString })

const exercises: ReadonlyArray<Exercise> = [
  (a, b, c) => ({
    question: `What is $\\frac{${a}}{${b}} + \\frac{1}{${c}}$, in lowest terms?`,
    answer: lowestTerms(a * c + b, b * c)
  }),
  (a, b, c) => ({ question: `Solve $${a}x + ${b} = ${a * c + b}$ for $x$.`, answer: String(c) }),
  (a, b) => ({ question: `Expand $(x + ${a})(x + ${b})$.`, answer: `x^2 + ${a + b}x + ${a * b}` })
]

export const split: Split.Split = Split.drawn((next) => {
  const number = () => 2 + Math.floor(next() * 11)
  return exercises[Math.floor(next() * exercises.length)]?.(number(), number(), number())
})
