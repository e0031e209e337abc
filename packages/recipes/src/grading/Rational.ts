/** Exact fractions, parsed from common notations for numbers. */
import * as Option from "effect/Option"

/** A fraction in lowest terms with a positive denominator, so equal numbers have equal fields. */
export interface Rational {
  readonly numerator: bigint
  readonly denominator: bigint
}

/** The longest text that is parsed as a number. The limit keeps parsing fast on any model output. */
const longest = 400

const greatestCommonDivisor = (a: bigint, b: bigint): bigint => {
  let [larger, smaller] = [a, b]
  while (smaller !== 0n) [larger, smaller] = [smaller, larger % smaller]
  return larger < 0n ? -larger : larger
}

const make = (numerator: bigint, denominator: bigint): Option.Option<Rational> => {
  if (denominator === 0n) return Option.none()
  const divisor = greatestCommonDivisor(numerator, denominator) * (denominator < 0n ? -1n : 1n)
  return Option.some({ numerator: numerator / divisor, denominator: denominator / divisor })
}

/** The quotient; none if `right` is 0. */
export const divide = (left: Rational, right: Rational) =>
  make(left.numerator * right.denominator, left.denominator * right.numerator)

const decimalPattern = /^([+-]?)(\d{1,3}(?:,\d{3})+|\d*)(?:\.(\d*))?$/

const decimal = (text: string): Option.Option<Rational> => {
  const [, sign, whole = "", fraction = ""] = decimalPattern.exec(text) ?? []
  const digits = whole.replaceAll(",", "") + fraction
  if (sign === undefined || digits === "") return Option.none()
  return make(BigInt(digits) * (sign === "-" ? -1n : 1n), 10n ** BigInt(fraction.length))
}

const fractionPatterns = [
  /^([+-]?)\\frac\{([^{}]*)\}\{([^{}]*)\}$/,
  /^([+-]?)\\frac(\d)(\d)$/,
  /^()([^/]+)\/([^/]+)$/
]

const fraction = (text: string): Option.Option<Rational> => {
  for (const pattern of fractionPatterns) {
    const [, sign, above, below] = pattern.exec(text) ?? []
    if (above === undefined || below === undefined) continue
    const value = Option.flatMap(
      decimal(above),
      (left) => Option.flatMap(decimal(below), (right) => divide(left, right))
    )
    return sign === "-" ? Option.flatMap(value, (positive) => make(-positive.numerator, positive.denominator)) : value
  }
  return Option.none()
}

/**
 * The text without dollar signs, LaTeX spacing and, as in the cookbook, percent signs. White space between two digits stays, because `1
 * 1/2` is not `11/2`.
 */
const bare = (text: string) =>
  text
    .replace(/\\!|\\,|\\?\$|\\?%/g, "")
    .replace(/\\[dt]frac/g, "\\frac")
    .replace(/(?<!\d)\s+|\s+(?!\d)/g, "")

/**
 * Parses integers, decimals and fractions of them: `-3`, `1,234.50`, `.5`, `1/2`, `\frac{1}{2}`, `\frac12`. Dollar and percent signs and
 * white space are dropped. None for any other text, including units and expressions, and for more than 400 characters.
 *
 * @example
 * const sum = Option.map(Rational.parse("1/3"), (third) => Rational.toString(Rational.add(third, third))) // "2/3"
 */
export const parse = (text: string): Option.Option<Rational> => {
  if (text.length > longest) return Option.none()
  const number = bare(text)
  return Option.orElse(decimal(number), () => fraction(number))
}

export const equals = (left: Rational, right: Rational) =>
  left.numerator === right.numerator && left.denominator === right.denominator

const lowest = (numerator: bigint, denominator: bigint): Rational => {
  const divisor = greatestCommonDivisor(numerator, denominator)
  return { numerator: numerator / divisor, denominator: denominator / divisor }
}

export const add = (left: Rational, right: Rational): Rational =>
  lowest(
    left.numerator * right.denominator + right.numerator * left.denominator,
    left.denominator * right.denominator
  )

export const negate = ({ denominator, numerator }: Rational): Rational => ({ numerator: -numerator, denominator })

export const multiply = (left: Rational, right: Rational): Rational =>
  lowest(left.numerator * right.numerator, left.denominator * right.denominator)

/** The reciprocal of a number other than 0. */
export const reciprocal = ({ denominator, numerator }: Rational): Rational =>
  numerator < 0n
    ? { numerator: -denominator, denominator: -numerator }
    : { numerator: denominator, denominator: numerator }

const largestDouble = 2n ** 1023n

/** The nearest double if neither term exceeds 2⁵³, otherwise an approximation. */
export const toNumber = ({ denominator, numerator }: Rational): number => {
  const size = numerator < 0n ? -numerator : numerator
  if (size < largestDouble && denominator < largestDouble) return Number(numerator) / Number(denominator)
  const scale = 2n ** 64n
  return Number((numerator * scale) / denominator) / 2 ** 64
}

/** The integer root, or undefined if `square` is negative or not a square. */
const wholeRoot = (square: bigint): bigint | undefined => {
  if (square < 0n) return undefined
  if (square < 2n) return square
  let root = 1n << BigInt((square.toString(2).length + 1) >> 1)
  for (;;) {
    const better = (root + square / root) >> 1n
    if (better >= root) return root * root === square ? root : undefined
    root = better
  }
}

/** The square root, or undefined if it is not rational. */
export const squareRoot = ({ denominator, numerator }: Rational): Rational | undefined => {
  const [above, below] = [wholeRoot(numerator), wholeRoot(denominator)]
  return above === undefined || below === undefined ? undefined : { numerator: above, denominator: below }
}

/** The number as text, such as `-3` or `7/2`. */
export const toString = ({ denominator, numerator }: Rational): string =>
  denominator === 1n ? String(numerator) : `${numerator}/${denominator}`
