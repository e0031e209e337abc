/** Grades a mathematical answer against a reference. */
import * as AnswerForm from "./AnswerForm.ts"
import * as LenientEquality from "./LenientEquality.ts"
import * as MathForm from "./MathForm.ts"
import * as SymbolicEquality from "./SymbolicEquality.ts"

const fraction = /^-?[0-9]+.?\/0*[1-9][0-9]*.?$/

/** Fractions have to be in the same terms, and an integer has to be written as one. */
const isSameElement = (candidate: string, reference: string) => {
  if (fraction.test(reference) && fraction.test(candidate)) return candidate === reference
  if (AnswerForm.isInteger(reference) !== AnswerForm.isInteger(candidate)) return false
  return SymbolicEquality.equals(reference, candidate)
}

const isSameForm = (candidate: string, reference: string) => {
  if (candidate === reference) return true
  if (candidate === "") return false
  const [given, expected] = [AnswerForm.elements(candidate), AnswerForm.elements(reference)]
  const isOtherTuple = expected.length > 1 &&
    (candidate.at(0) !== reference.at(0) || candidate.at(-1) !== reference.at(-1))
  if (isOtherTuple || given.length !== expected.length) return false
  return given.length > 0 && given.every((element, index) => isSameElement(element, expected[index] ?? ""))
}

/** Longer answers are compared as text alone. */
const longest = 1000

/** Which answers are right. */
export interface Options {
  /** Also accept answers of equal value in another form, by `LenientEquality.equals`; default false. */
  readonly lenient?: boolean
}

/**
 * Is the answer right? Both are compared as text, then in normal form, then element by element as expressions.
 * Answers of more than 1,000 characters are compared as text alone.
 *
 * @example
 * MathAnswer.isCorrect("x = 4", "4", { lenient: true })
 *
 * @see tinker-cookbook `recipes/math_rl/math_grading.py: grade_answer`
 */
export const isCorrect = (answer: string, reference: string, options: Options = {}): boolean => {
  if (answer.length > longest || reference.length > longest) return answer.trim() === reference.trim()
  return MathForm.of(answer) === MathForm.of(reference) ||
    isSameForm(AnswerForm.of(answer), AnswerForm.of(reference)) ||
    (options.lenient === true && LenientEquality.equals(answer, reference))
}
