/** Values of formulas: exact if rational, else complex numbers in double precision. */
import * as Complex from "./Complex.ts"
import type { Formula, FunctionName, Operator } from "./Formula.ts"
import * as Rational from "./Rational.ts"

export type Value =
  | { readonly _tag: "Exact"; readonly value: Rational.Rational }
  | { readonly _tag: "Approximate"; readonly value: Complex.Complex }

/** Values of the symbols. */
export type Point = Readonly<Record<string, Value>>

export const exact = (value: Rational.Rational): Value => ({ _tag: "Exact", value })

export const approximate = (value: Complex.Complex): Value => ({ _tag: "Approximate", value })

/** The most bits of a numerator or denominator. The limit keeps evaluation fast. */
const mostBits = 4096

/** The largest argument of a factorial. The factorial of 400 has about 3,000 bits. */
const largestFactorial = 400

const lengthOf = (value: bigint) => value.toString(16).length * 4

const isSmall = ({ denominator, numerator }: Rational.Rational) =>
  lengthOf(numerator) <= mostBits && lengthOf(denominator) <= mostBits

export const toComplex = (value: Value): Complex.Complex =>
  value._tag === "Approximate" ? value.value : Complex.real(Rational.toNumber(value.value))

const finite = (value: Complex.Complex): Value | undefined => Complex.isFinite(value) ? approximate(value) : undefined

const exactPower = (base: Rational.Rational, exponent: Rational.Rational): Value | undefined => {
  const size = exponent.numerator < 0n ? -exponent.numerator : exponent.numerator
  const bits = Math.max(lengthOf(base.numerator), lengthOf(base.denominator))
  if (size * BigInt(bits) > BigInt(mostBits)) return undefined
  if (exponent.numerator < 0n && base.numerator === 0n) return undefined
  const power = { numerator: base.numerator ** size, denominator: base.denominator ** size }
  return exact(exponent.numerator < 0n ? Rational.reciprocal(power) : power)
}

const exactOperation = (
  operator: Operator,
  left: Rational.Rational,
  right: Rational.Rational
): Value | undefined => {
  switch (operator) {
    case "+":
      return exact(Rational.add(left, right))
    case "-":
      return exact(Rational.add(left, Rational.negate(right)))
    case "*":
      return exact(Rational.multiply(left, right))
    case "/":
      return right.numerator === 0n ? undefined : exact(Rational.multiply(left, Rational.reciprocal(right)))
    case "^":
      return exactPower(left, right)
  }
}

const complexOperation = (operator: Operator, left: Complex.Complex, right: Complex.Complex): Complex.Complex => {
  switch (operator) {
    case "+":
      return Complex.add(left, right)
    case "-":
      return Complex.add(left, Complex.negate(right))
    case "*":
      return Complex.multiply(left, right)
    case "/":
      return Complex.divide(left, right)
    case "^":
      return Complex.power(left, right)
  }
}

/** Applies an operator. An exact number is divided by a double by multiplying with the reciprocal, as SymPy does. */
const operate = (operator: Operator, left: Value, right: Value): Value | undefined => {
  const isWhole = right._tag === "Exact" && right.value.denominator === 1n
  if (left._tag === "Exact" && right._tag === "Exact" && (operator !== "^" || isWhole)) {
    const value = exactOperation(operator, left.value, right.value)
    return value?._tag === "Exact" && !isSmall(value.value) ? undefined : value
  }
  const divides = operator === "/" && left._tag === "Exact" && right._tag === "Approximate"
  return divides
    ? finite(Complex.multiply(toComplex(left), Complex.divide(Complex.real(1), right.value)))
    : finite(complexOperation(operator, toComplex(left), toComplex(right)))
}

const factorial = (value: Value): Value | undefined => {
  if (value._tag !== "Exact" || value.value.denominator !== 1n) return undefined
  const { numerator } = value.value
  if (numerator < 0n || numerator > BigInt(largestFactorial)) return undefined
  let product = 1n
  for (let factor = 2n; factor <= numerator; factor++) product *= factor
  return exact({ numerator: product, denominator: 1n })
}

const squareRoot = (value: Value): Value | undefined => {
  const root = value._tag === "Exact" ? Rational.squareRoot(value.value) : undefined
  return root === undefined ? finite(Complex.sqrt(toComplex(value))) : exact(root)
}

const absolute = (value: Value): Value | undefined => {
  if (value._tag === "Approximate") return finite(Complex.real(Complex.magnitude(value.value)))
  return exact(value.value.numerator < 0n ? Rational.negate(value.value) : value.value)
}

const apply = (name: FunctionName, value: Value): Value | undefined => {
  switch (name) {
    case "factorial":
      return factorial(value)
    case "sqrt":
      return squareRoot(value)
    case "abs":
      return absolute(value)
    default:
      return finite(Complex[name](toComplex(value)))
  }
}

/**
 * The value at a point. Undefined if a symbol has no value, a result is not finite or has too many bits, or a factorial is out of range.
 */
export const at = (formula: Formula, point: Point): Value | undefined => {
  switch (formula._tag) {
    case "Number":
      return formula.isDecimal ? approximate(Complex.real(Rational.toNumber(formula.value))) : exact(formula.value)
    case "Constant":
      return approximate(formula.value)
    case "Symbol":
      return point[formula.name]
    case "Binary": {
      const left = at(formula.left, point)
      const right = left === undefined ? undefined : at(formula.right, point)
      return left === undefined || right === undefined ? undefined : operate(formula.operator, left, right)
    }
    case "Call": {
      const argument = at(formula.argument, point)
      return argument === undefined ? undefined : apply(formula.name, argument)
    }
  }
}
