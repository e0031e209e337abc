/** Values of rational formulas modulo a prime. Equal formulas have equal residues wherever both are defined. */
import type { Formula, Operator } from "./Formula.ts"
import * as FormulaValue from "./FormulaValue.ts"

const prime = 2n ** 61n - 1n

/** Residues of the symbols. */
export type Point = Readonly<Record<string, bigint>>

const residue = (value: bigint) => {
  const rest = value % prime
  return rest < 0n ? rest + prime : rest
}

/** A pseudo-random residue for an index. Neighbouring indices give unrelated residues. */
export const scattered = (index: number): bigint => {
  let value = BigInt(index + 3)
  for (let round = 0; round < 8; round++) value = residue(value * value * value + 0x9e3779b97f4a7c15n)
  return value
}

const power = (base: bigint, exponent: bigint): bigint => {
  let [result, square] = [1n, base]
  for (let left = exponent; left > 0n; left >>= 1n) {
    if ((left & 1n) === 1n) result = result * square % prime
    square = square * square % prime
  }
  return result
}

/** The multiplicative inverse modulo the prime; undefined for 0. */
const inverse = (value: bigint): bigint | undefined => value === 0n ? undefined : power(value, prime - 2n)

const divide = (left: bigint, right: bigint): bigint | undefined => {
  const factor = inverse(right)
  return factor === undefined ? undefined : left * factor % prime
}

const constantPower = (base: bigint, exponent: Formula): bigint | undefined => {
  const value = FormulaValue.at(exponent, {})
  if (value?._tag !== "Exact" || value.value.denominator !== 1n) return undefined
  const { numerator } = value.value
  if (numerator >= 0n) return power(base, numerator)
  const reciprocal = inverse(base)
  return reciprocal === undefined ? undefined : power(reciprocal, -numerator)
}

const operate = (operator: Exclude<Operator, "^">, left: bigint, right: bigint): bigint | undefined => {
  switch (operator) {
    case "+":
      return (left + right) % prime
    case "-":
      return residue(left - right)
    case "*":
      return left * right % prime
    case "/":
      return divide(left, right)
  }
}

/** The residue at a point. Undefined if a divisor is 0, or if the formula is not a rational function with integer exponents. */
export const at = (formula: Formula, point: Point): bigint | undefined => {
  switch (formula._tag) {
    case "Number":
      return divide(residue(formula.value.numerator), residue(formula.value.denominator))
    case "Symbol":
      return point[formula.name]
    case "Binary": {
      const left = at(formula.left, point)
      if (left === undefined) return undefined
      if (formula.operator === "^") return constantPower(left, formula.right)
      const right = at(formula.right, point)
      return right === undefined ? undefined : operate(formula.operator, left, right)
    }
    case "Call": {
      const value = FormulaValue.at(formula, {})
      return value?._tag === "Exact"
        ? divide(residue(value.value.numerator), residue(value.value.denominator))
        : undefined
    }
    case "Constant":
      return undefined
  }
}
