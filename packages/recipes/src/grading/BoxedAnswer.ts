/** Grades the boxed answer of a response. */
import * as Option from "effect/Option"
import * as Boxed from "./Boxed.ts"
import * as MathAnswer from "./MathAnswer.ts"

/** The verdict on a response. `answer` is the content of its box. */
export type Verdict =
  | { readonly _tag: "Correct"; readonly answer: string }
  | { readonly _tag: "Wrong"; readonly answer: string }
  | { readonly _tag: "NoAnswer" }

/**
 * Grades the last box of a response by `MathAnswer.isCorrect`.
 *
 * @example
 * BoxedAnswer.grade("The answer is \\boxed{0.5}.", "\\frac{1}{2}")
 */
export const grade = (response: string, reference: string, options?: MathAnswer.Options): Verdict =>
  Option.match(Boxed.extract(response), {
    onNone: (): Verdict => ({ _tag: "NoAnswer" }),
    onSome: (answer) => ({ _tag: MathAnswer.isCorrect(answer, reference, options) ? "Correct" : "Wrong", answer })
  })
