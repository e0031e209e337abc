/** Decides whether two expressions in normal form are equal, as SymPy does. */
import * as Option from "effect/Option"
import * as FormulaEquality from "./FormulaEquality.ts"
import * as PythonFormula from "./PythonFormula.ts"

const lettersOf = (text: string) =>
  new Set(text.replaceAll("sqrt", "").replaceAll("frac", "").match(/\p{L}/gu) ?? []).size

/** Whether an expression may be compared. More than two different letters count as words, and large powers would take long. */
const isAllowed = (text: string) => lettersOf(text) <= 2 && !/\^[{(]|\^[0-9]+\^|\^[0-9][0-9]/.test(text)

/**
 * Whether two expressions are equal. False if either cannot be parsed or compared.
 *
 * @see tinker-cookbook `recipes/math_rl/math_grading.py: are_equal_under_sympy`
 */
export const equals = (left: string, right: string): boolean =>
  isAllowed(`(${left})-(${right})`) &&
  Option.getOrElse(
    Option.zipWith(PythonFormula.parse(left), PythonFormula.parse(right), FormulaEquality.equals),
    () => false
  )
