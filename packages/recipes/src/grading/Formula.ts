/** Formulas built from numbers, symbols and functions. */
import * as Complex from "./Complex.ts"
import type * as Rational from "./Rational.ts"

export type Operator = "+" | "-" | "*" | "/" | "^"

export type FunctionName = "sqrt" | "ln" | "exp" | "sin" | "cos" | "tan" | "abs" | "factorial"

export type Formula =
  /** `isDecimal` is true if the number was written with a decimal point or an exponent. */
  | { readonly _tag: "Number"; readonly value: Rational.Rational; readonly isDecimal: boolean }
  | { readonly _tag: "Constant"; readonly value: Complex.Complex }
  | { readonly _tag: "Symbol"; readonly name: string }
  | { readonly _tag: "Binary"; readonly operator: Operator; readonly left: Formula; readonly right: Formula }
  | { readonly _tag: "Call"; readonly name: FunctionName; readonly argument: Formula }

export const integer = (value: bigint): Formula => exact({ numerator: value, denominator: 1n })

export const symbol = (name: string): Formula => ({ _tag: "Symbol", name })

export const exact = (value: Rational.Rational): Formula => ({ _tag: "Number", value, isDecimal: false })

export const pi: Formula = { _tag: "Constant", value: Complex.real(Math.PI) }

/** The imaginary unit. */
export const i: Formula = { _tag: "Constant", value: { re: 0, im: 1 } }

export const call = (name: FunctionName, argument: Formula): Formula => ({ _tag: "Call", name, argument })

export const binary = (operator: Operator, left: Formula, right: Formula): Formula => ({
  _tag: "Binary",
  operator,
  left,
  right
})

export const negate = (formula: Formula): Formula => binary("-", integer(0n), formula)

/** Whether the formula or any part of it passes the test. */
export const some = (formula: Formula, test: (part: Formula) => boolean): boolean => {
  if (test(formula)) return true
  if (formula._tag === "Binary") return some(formula.left, test) || some(formula.right, test)
  return formula._tag === "Call" && some(formula.argument, test)
}

/** The names of all symbols, sorted. */
export const symbolsOf = (formula: Formula): ReadonlyArray<string> => {
  const names = new Set<string>()
  some(formula, (part) => {
    if (part._tag === "Symbol") names.add(part.name)
    return false
  })
  return [...names].toSorted()
}
