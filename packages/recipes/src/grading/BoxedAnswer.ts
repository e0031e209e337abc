/** Grades the boxed answer of a response by exact value. */
import * as Option from "effect/Option"
import * as Boxed from "./Boxed.ts"
import * as Rational from "./Rational.ts"

/** `answer` is what was in the box. */
export type Verdict =
  | { readonly _tag: "Correct"; readonly answer: string }
  | { readonly _tag: "Wrong"; readonly answer: string }
  | { readonly _tag: "NoAnswer" }

const isSame = (answer: string, reference: string) =>
  Option.getOrElse(
    Option.zipWith(Rational.parse(answer), Rational.parse(reference), Rational.equals),
    () => answer.trim() !== "" && answer.trim() === reference.trim()
  )

/**
 * Numbers are equal when their exact values are: `0.5`, `\frac{1}{2}` and `2/4` are the same, `0.333` and `1/3` are not. Where
 * one of the two is no number, only the same text is right. Nothing is evaluated: expressions and units do not match.
 *
 * Stricter than tinker-cookbook's `grade_answer` where that rounds or strips units, more lenient for unreduced fractions.
 */
export const grade = (response: string, reference: string): Verdict =>
  Option.match(Boxed.extract(response), {
    onNone: (): Verdict => ({ _tag: "NoAnswer" }),
    onSome: (answer) => ({ _tag: isSame(answer, reference) ? "Correct" : "Wrong", answer })
  })
