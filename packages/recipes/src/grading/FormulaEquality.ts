/** Decides whether formulas are equal by comparing their values at fixed points. */
import * as Complex from "./Complex.ts"
import * as Formula from "./Formula.ts"
import * as FormulaResidue from "./FormulaResidue.ts"
import * as FormulaValue from "./FormulaValue.ts"

const isDecimal = (part: Formula.Formula) => part._tag === "Number" && part.isDecimal

/** Whether a part is a non-integer decimal that is kept exactly instead of rounded to a double. */
const isExactDecimal = (part: Formula.Formula) =>
  part._tag === "Number" && !part.isDecimal && part.value.denominator !== 1n

/** Whether a part usually has an irrational value. */
const isIrrational = (part: Formula.Formula) =>
  part._tag === "Constant" || (part._tag === "Call" && part.name !== "factorial" && part.name !== "abs")

const isSymbol = (part: Formula.Formula) => part._tag === "Symbol"

/** Whether a part makes the formula more than a rational function. */
const isTranscendental = (part: Formula.Formula) =>
  isIrrational(part) || (part._tag === "Call" && Formula.some(part, isSymbol)) ||
  (part._tag === "Binary" && part.operator === "^" &&
    Formula.some(
      part.right,
      (exponent) =>
        isSymbol(exponent) || isDecimal(exponent) || (exponent._tag === "Binary" && exponent.operator === "/")
    ))

const trials = [0, 1, 2, 3, 4]

/** Scattered values for the symbols, so no simple relation holds between them. */
const residuePoint = (names: ReadonlyArray<string>, trial: number): FormulaResidue.Point =>
  Object.fromEntries(names.map((name, index) => [name, FormulaResidue.scattered(index * trials.length + trial)]))

const complexPoint = (names: ReadonlyArray<string>, trial: number): FormulaValue.Point =>
  Object.fromEntries(names.map((name, index) => {
    const angle = 0.7 + 1.9 * trial + 2.3 * index
    const size = 0.6 + 0.37 * ((trial * 2 + index * 3) % 5)
    const value = { re: size * Math.cos(angle), im: size * Math.sin(angle) }
    return [name, FormulaValue.approximate(value)]
  }))

const tolerance = 1e-12

const isClose = (left: Complex.Complex, right: Complex.Complex) => {
  const scale = Math.max(1, Complex.magnitude(left), Complex.magnitude(right))
  return Complex.magnitude(Complex.add(left, Complex.negate(right))) <= tolerance * scale
}

const isSame = (left: FormulaValue.Value, right: FormulaValue.Value, isExact: boolean) => {
  if (left._tag === "Exact" && right._tag === "Exact") {
    return left.value.numerator === right.value.numerator && left.value.denominator === right.value.denominator
  }
  const [a, b] = [FormulaValue.toComplex(left), FormulaValue.toComplex(right)]
  return isExact ? a.re === b.re && a.im === b.im : isClose(a, b)
}

const agreeAt = (left: Formula.Formula, right: Formula.Formula, point: FormulaValue.Point, isExact: boolean) => {
  const a = FormulaValue.at(left, point)
  const b = a === undefined ? undefined : FormulaValue.at(right, point)
  return a !== undefined && b !== undefined && isSame(a, b, isExact)
}

const haveSameResidue = (left: Formula.Formula, right: Formula.Formula, point: FormulaResidue.Point) => {
  const value = FormulaResidue.at(left, point)
  return value !== undefined && value === FormulaResidue.at(right, point)
}

/** Whether one formula has decimals and nothing irrational, and the other something irrational. */
const areOfOtherKinds = (left: Formula.Formula, right: Formula.Formula) => {
  const isDecimalOnly = (formula: Formula.Formula) =>
    Formula.some(formula, (part) => isDecimal(part) || isExactDecimal(part)) && !Formula.some(formula, isIrrational)
  return (isDecimalOnly(left) && Formula.some(right, isIrrational)) ||
    (isDecimalOnly(right) && Formula.some(left, isIrrational))
}

const equalNumbers = (left: Formula.Formula, right: Formula.Formula) => {
  const both = Formula.binary("-", left, right)
  const hasDecimal = Formula.some(both, isDecimal)
  if (areOfOtherKinds(left, right) || (hasDecimal && Formula.some(both, isExactDecimal))) return false
  return agreeAt(left, right, {}, hasDecimal && !Formula.some(both, isIrrational))
}

/**
 * Whether two formulas have equal values at five points. Rational functions are compared modulo a prime. Other formulas are compared within
 * 1e-12, relative to magnitudes above 1, at complex points, which tell branches of roots and logarithms apart. Formulas without symbols are
 * compared by value: a decimal is never equal to an irrational number, and decimals are equal if their double-precision values are.
 */
export const equals = (left: Formula.Formula, right: Formula.Formula): boolean => {
  const both = Formula.binary("-", left, right)
  const names = Formula.symbolsOf(both)
  if (names.length === 0) return equalNumbers(left, right)
  return Formula.some(both, isTranscendental)
    ? trials.every((trial) => agreeAt(left, right, complexPoint(names, trial), false))
    : trials.every((trial) => haveSameResidue(left, right, residuePoint(names, trial)))
}
