/** Grades a mathematical answer against a reference. */
import * as AnswerForm from "./AnswerForm.ts"
import * as LenientEquality from "./LenientEquality.ts"
import * as MathForm from "./MathForm.ts"
import * as SymbolicEquality from "./SymbolicEquality.ts"

const fraction = /^-?[0-9]+.?\/0*[1-9][0-9]*.?$/

/** Compares elements. Fractions must have the same terms, and an integer must be written as an integer. */
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

/** The longest answer that is compared as an expression. Longer answers are compared only as text. */
const longest = 1000

/** Which answers count as right. */
export interface Options {
  /** Also accept answers with an equal value in another form, by `LenientEquality.equals`. Default: false. */
  readonly lenient?: boolean
}

/**
 * Whether an answer matches the reference. The two are compared as text, then in normal form, then element by element
 * as expressions. Answers of more than 1,000 characters are compared only as text.
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
