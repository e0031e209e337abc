/** Parses formulas as SymPy reads text with implicit multiplication. */
import * as Option from "effect/Option"
import * as Formula from "./Formula.ts"
import * as Rational from "./Rational.ts"

/** The deepest nesting of parentheses, signs and powers that is parsed, as in Python. */
const deepest = 150

const digits = "[0-9](?:_?[0-9])*"
const exponent = `[eE][+-]?${digits}`
const number =
  `(?:${digits}\\.(?:${digits})?|\\.${digits})(?:${exponent})?|${digits}${exponent}|0(?:_?0)*|[1-9](?:_?[0-9])*`
const token = new RegExp(`(?:(${number})|([\\p{L}\\p{Nd}\\p{Nl}\\p{M}_]+)|(\\*\\*|[-+*/^()!])) *`, "uy")

/** Names that SymPy or Python reserve. */
const reserved = new Set(
  ["as", "if", "in", "is", "or", "oo", "zoo", "nan", "ff", "rf", "gff", "im", "re", "li", "jn", "yn", "fu", "id", "all"]
)

/** Two-letter names that are a single symbol. */
const greek = new Set(["mu", "nu", "xi"])

type Token =
  | { readonly _tag: "Operand"; readonly formula: Formula.Formula }
  | { readonly _tag: "Function"; readonly name: "sqrt" | "ln" | "abs" }
  | { readonly _tag: "Sign"; readonly text: string }

const digitsBehindPoint = (text: string) => /\.([0-9]*)/.exec(text)?.[1]?.length ?? 0

/** The most significant digits of a double. Numbers with more digits are kept exactly. */
const mostDigits = 15

const numberOf = (text: string): Formula.Formula | undefined => {
  const plain = text.replaceAll("_", "")
  if (/^[0-9]+$/.test(plain)) return Formula.integer(BigInt(plain))
  const [mantissa = "", power = "0"] = plain.toLowerCase().split("e")
  const scale = Number(power) - digitsBehindPoint(mantissa)
  if (Math.abs(scale) > 400) return undefined
  const whole = BigInt(mantissa.replace(".", ""))
  const value = scale < 0
    ? Rational.divide({ numerator: whole, denominator: 1n }, { numerator: 10n ** BigInt(-scale), denominator: 1n })
    : Option.some({ numerator: whole * 10n ** BigInt(scale), denominator: 1n })
  const isDecimal = mantissa.replace(".", "").replace(/^0+/, "").length <= mostDigits
  return Option.match(value, {
    onNone: () => undefined,
    onSome: (value): Formula.Formula => ({ _tag: "Number", value, isDecimal })
  })
}

/** The factors of a name. A name without `_` is a product of its letters and numbers. */
const namedOperands = (name: string): ReadonlyArray<Formula.Formula> => {
  if (name === "pi") return [Formula.pi]
  if (name.includes("_") || greek.has(name)) return [Formula.symbol(name)]
  return (name.match(/[0-9]+|[^0-9]/gu) ?? []).map((part) =>
    /^[0-9]/.test(part) ? Formula.integer(BigInt(part)) : Formula.symbol(part)
  )
}

const functions: Readonly<Record<string, "sqrt" | "ln" | "abs">> = { sqrt: "sqrt", ln: "ln", abs: "abs" }

const nameTokens = (name: string): ReadonlyArray<Token> | undefined => {
  const known = Object.hasOwn(functions, name) ? functions[name] : undefined
  if (known !== undefined) return [{ _tag: "Function", name: known }]
  return reserved.has(name) ? undefined : namedOperands(name).map((formula) => ({ _tag: "Operand", formula }))
}

/** Whether an implicit product would span two lines, which SymPy rejects. */
const hasSplitProduct = (text: string) => /[\p{L}\p{Nd}_)!.]\s*\n\s*[\p{L}\p{Nd}_(.]/u.test(text)

const tokensOf = (text: string): ReadonlyArray<Token> | undefined => {
  const tokens: Array<Token> = []
  const expression = text.replace(/\s/g, " ").trim()
  token.lastIndex = 0
  while (token.lastIndex < expression.length) {
    const [, number, name, sign] = token.exec(expression) ?? []
    if (number !== undefined) {
      const formula = numberOf(number)
      if (formula === undefined) return undefined
      tokens.push({ _tag: "Operand", formula })
    } else if (name !== undefined) {
      const named = nameTokens(name)
      if (named === undefined) return undefined
      tokens.push(...named)
    } else if (sign !== undefined) tokens.push({ _tag: "Sign", text: sign === "^" ? "**" : sign })
    else return undefined
  }
  return tokens
}

interface Reading {
  readonly tokens: ReadonlyArray<Token>
  at: number
  depth: number
}

const next = ({ at, tokens }: Reading) => tokens[at]

const isSign = (reading: Reading, ...texts: ReadonlyArray<string>): boolean => {
  const token = next(reading)
  return token?._tag === "Sign" && texts.includes(token.text)
}

const take = (reading: Reading, ...texts: ReadonlyArray<string>): string | undefined => {
  const token = next(reading)
  if (token?._tag !== "Sign" || !texts.includes(token.text)) return undefined
  reading.at++
  return token.text
}

const parenthesized = (reading: Reading): Formula.Formula | undefined => {
  if (take(reading, "(") === undefined) return undefined
  const inside = sum(reading)
  return take(reading, ")") === undefined ? undefined : inside
}

const operand = (reading: Reading): Formula.Formula | undefined => {
  const token = next(reading)
  if (token === undefined || token._tag === "Sign") return parenthesized(reading)
  reading.at++
  if (token._tag === "Operand") return token.formula
  const argument = parenthesized(reading)
  return argument === undefined ? undefined : Formula.call(token.name, argument)
}

const withFactorial = (reading: Reading): Formula.Formula | undefined => {
  const base = operand(reading)
  if (base === undefined || take(reading, "!") === undefined) return base
  return Formula.call("factorial", base)
}

const power = (reading: Reading): Formula.Formula | undefined => {
  const base = withFactorial(reading)
  if (base === undefined || take(reading, "**") === undefined) return base
  const exponent = signed(reading)
  return exponent === undefined ? undefined : Formula.binary("^", base, exponent)
}

const signed = (reading: Reading): Formula.Formula | undefined => {
  if (++reading.depth > deepest) return undefined
  const sign = take(reading, "-", "+")
  const value = sign === undefined ? power(reading) : signed(reading)
  reading.depth--
  return value === undefined || sign !== "-" ? value : Formula.negate(value)
}

/** Whether the next factor follows without an operator. */
const isImplicit = (reading: Reading) => {
  const token = next(reading)
  return token !== undefined && (token._tag !== "Sign" || token.text === "(")
}

const product = (reading: Reading): Formula.Formula | undefined => {
  let left = signed(reading)
  while (left !== undefined && (isImplicit(reading) || isSign(reading, "*", "/"))) {
    const operator = take(reading, "/", "*") === "/" ? "/" : "*"
    const right = signed(reading)
    left = right === undefined ? undefined : Formula.binary(operator, left, right)
  }
  return left
}

const sum = (reading: Reading): Formula.Formula | undefined => {
  let left = product(reading)
  for (
    let sign = take(reading, "+", "-");
    left !== undefined && sign !== undefined;
    sign = take(reading, "+", "-")
  ) {
    const right = product(reading)
    left = right === undefined ? undefined : Formula.binary(sign === "-" ? "-" : "+", left, right)
  }
  return left
}

/** Parses a formula. None if the text is not a formula or is nested too deeply. */
export const parse = (text: string): Option.Option<Formula.Formula> => {
  const tokens = hasSplitProduct(text) ? undefined : tokensOf(text)
  if (tokens === undefined) return Option.none()
  const reading: Reading = { tokens, at: 0, depth: 0 }
  const formula = sum(reading)
  return formula !== undefined && reading.at === tokens.length ? Option.some(formula) : Option.none()
}
