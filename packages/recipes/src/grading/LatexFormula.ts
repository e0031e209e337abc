/** Parses LaTeX formulas as a reader understands them: braces delimit the arguments of fractions, roots, powers and functions. */
import * as Option from "effect/Option"
import * as Formula from "./Formula.ts"
import * as Rational from "./Rational.ts"

/** The deepest nesting of groups that is parsed. */
const deepest = 100

const token =
  /\s*(?:([0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?(?![0-9])|[0-9]+\.?[0-9]*|\.[0-9]+)|(\\[a-zA-Z]+)|(\*\*|[-+*/^_!|%()[\]{}])|(\p{L}))\s*/uy

interface Token {
  readonly kind: "number" | "macro" | "sign" | "letter"
  readonly text: string
}

interface Reading {
  readonly tokens: ReadonlyArray<Token>
  at: number
  depth: number
}

type Parsed = Formula.Formula | undefined

const spellings: ReadonlyArray<readonly [from: RegExp, to: string]> = [
  [/\\left(?![a-z])|\\right(?![a-z])|\\displaystyle|\\[,;:! ]|\$|~/g, " "],
  [/\\[dtc]frac/g, "\\frac"],
  [/\\cdot|\\times|[·×]/g, "*"],
  [/\\div|÷/g, "/"],
  [/π/g, "\\pi "],
  [/√/g, "\\sqrt "],
  [/−/g, "-"],
  [/\\%/g, "%"],
  [/\^\s*(?:\{\s*\\circ\s*\}|\\circ)|°|\\degree/g, ""],
  [/\\[lr]vert/g, "|"],
  [/\b(sqrt|ln|log|sin|cos|tan|exp|pi)(?![a-zA-Z])/g, "\\$1 "],
  [/\\\\/g, "\\"]
]

const tokensOf = (latex: string): ReadonlyArray<Token> | undefined => {
  const text = spellings.reduce((text, [from, to]) => text.replace(from, to), latex).trim()
  const tokens: Array<Token> = []
  token.lastIndex = 0
  while (token.lastIndex < text.length) {
    const [, number, macro, sign, letter] = token.exec(text) ?? []
    if (number !== undefined) tokens.push({ kind: "number", text: number })
    else if (macro !== undefined) tokens.push({ kind: "macro", text: macro.slice(1) })
    else if (sign !== undefined) tokens.push({ kind: "sign", text: sign === "**" ? "^" : sign })
    else if (letter !== undefined) tokens.push({ kind: "letter", text: letter })
    else return undefined
  }
  return tokens
}

const peek = ({ at, tokens }: Reading, ...texts: ReadonlyArray<string>): boolean => {
  const token = tokens[at]
  return token !== undefined && token.kind === "sign" && texts.includes(token.text)
}

const take = (reading: Reading, ...texts: ReadonlyArray<string>): string | undefined => {
  if (!peek(reading, ...texts)) return undefined
  return reading.tokens[reading.at++]?.text
}

const enclosed = (reading: Reading, close: string): Parsed => {
  const inside = sum(reading)
  return take(reading, close) === undefined ? undefined : inside
}

const numberFormula = (text: string): Parsed =>
  Option.getOrUndefined(Option.map(Rational.parse(text.endsWith(".") ? text.slice(0, -1) : text), Formula.exact))

/** The next argument: a braced group or a single character. `\frac12` has two arguments. */
const argument = (reading: Reading): Parsed => {
  if (take(reading, "{") !== undefined) return enclosed(reading, "}")
  const token = reading.tokens[reading.at]
  if (token?.kind !== "number" || token.text.length === 1) return atom(reading)
  return undefined
}

/** Splits the digits after a macro into single tokens, as in `\frac12` and `\frac1{72}`. */
const splitDigits = (tokens: ReadonlyArray<Token>): ReadonlyArray<Token> => {
  const split: Array<Token> = []
  for (const token of tokens) {
    const previous = split.at(-1)
    const beforePrevious = split.at(-2)
    const isAfter = previous?.text === "frac" || previous?.text === "sqrt" || previous?.text === "binom"
    const isSecond = beforePrevious?.text === "frac" && previous?.kind === "number" && previous.text.length === 1
    if (token.kind !== "number" || !(isAfter || isSecond) || !/^[0-9]{2,}$/.test(token.text)) split.push(token)
    else {
      const count = previous?.text === "sqrt" ? 1 : 2
      for (const digit of token.text.slice(0, count)) split.push({ kind: "number", text: digit })
      if (token.text.length > count) split.push({ kind: "number", text: token.text.slice(count) })
    }
  }
  return split
}

const rootIndex = (reading: Reading): Parsed => {
  if (take(reading, "[") === undefined) return Formula.integer(2n)
  return enclosed(reading, "]")
}

const isTwo = (formula: Formula.Formula) => formula._tag === "Number" && formula.value.numerator === 2n

const root = (reading: Reading): Parsed => {
  const index = rootIndex(reading)
  const radicand = index === undefined ? undefined : argument(reading)
  if (index === undefined || radicand === undefined) return undefined
  if (isTwo(index)) return Formula.call("sqrt", radicand)
  return Formula.binary("^", radicand, Formula.binary("/", Formula.integer(1n), index))
}

const fraction = (reading: Reading): Parsed => {
  const above = argument(reading)
  const below = above === undefined ? undefined : argument(reading)
  return above === undefined || below === undefined ? undefined : Formula.binary("/", above, below)
}

/** C(n, k) for numbers: n!/(k!·(n − k)!). */
const binomial = (reading: Reading): Parsed => {
  const above = argument(reading)
  const below = above === undefined ? undefined : argument(reading)
  if (above === undefined || below === undefined) return undefined
  const factorial = (formula: Formula.Formula) => Formula.call("factorial", formula)
  const ways = Formula.binary("*", factorial(below), factorial(Formula.binary("-", above, below)))
  return Formula.binary("/", factorial(above), ways)
}

/** The argument of a function. Without parentheses, it is the product that follows, up to the next macro: `\sin 2x`. */
const functionArgument = (reading: Reading): Parsed => {
  if (peek(reading, "(", "{")) return atom(reading)
  let left = power(reading)
  while (left !== undefined && startsFactor(reading) && reading.tokens[reading.at]?.kind !== "macro") {
    const right = power(reading)
    left = right === undefined ? undefined : Formula.binary("*", left, right)
  }
  return left
}

const logarithm = (reading: Reading): Parsed => {
  const base = take(reading, "_") === undefined ? Formula.integer(10n) : argument(reading)
  const value = base === undefined ? undefined : functionArgument(reading)
  if (base === undefined || value === undefined) return undefined
  return Formula.binary("/", Formula.call("ln", value), Formula.call("ln", base))
}

const applied = (reading: Reading, name: Formula.FunctionName): Parsed => {
  const exponent = take(reading, "^") === undefined ? undefined : argument(reading)
  const value = functionArgument(reading)
  if (value === undefined) return undefined
  const call = Formula.call(name, value)
  return exponent === undefined ? call : Formula.binary("^", call, exponent)
}

const styles = new Set(["text", "mathrm", "textbf", "mathbf", "mathit", "boxed", "mbox"])

const macro = (reading: Reading, name: string): Parsed => {
  switch (name) {
    case "frac":
      return fraction(reading)
    case "sqrt":
      return root(reading)
    case "binom":
      return binomial(reading)
    case "log":
      return logarithm(reading)
    case "ln":
    case "exp":
    case "sin":
    case "cos":
    case "tan":
      return applied(reading, name)
    case "pi":
      return Formula.pi
    default:
      return styles.has(name) ? argument(reading) : Formula.symbol(`\\${name}`)
  }
}

const subscripted = (reading: Reading, letter: string): Parsed => {
  if (take(reading, "_") === undefined) return letter === "i" ? Formula.i : Formula.symbol(letter)
  const start = reading.at
  if (argument(reading) === undefined) return undefined
  const index = reading.tokens.slice(start, reading.at).map(({ text }) => text).join("").replace(/[{}]/g, "")
  return Formula.symbol(`${letter}_${index}`)
}

const atom = (reading: Reading): Parsed => {
  const token = reading.tokens[reading.at]
  if (token === undefined) return undefined
  reading.at++
  if (token.kind === "number") return numberFormula(token.text)
  if (token.kind === "letter") return subscripted(reading, token.text)
  if (token.kind === "macro") return macro(reading, token.text)
  if (token.text === "(") return enclosed(reading, ")")
  if (token.text === "{") return enclosed(reading, "}")
  if (token.text !== "|") return undefined
  const inside = enclosed(reading, "|")
  return inside === undefined ? undefined : Formula.call("abs", inside)
}

const postfixed = (reading: Reading): Parsed => {
  let value = atom(reading)
  for (let sign = take(reading, "!", "%"); value !== undefined && sign !== undefined; sign = take(reading, "!", "%")) {
    value = sign === "!"
      ? Formula.call("factorial", value)
      : Formula.binary("/", value, Formula.integer(100n))
  }
  return value
}

const exponent = (reading: Reading): Parsed => {
  if (peek(reading, "{")) return argument(reading)
  const sign = take(reading, "-", "+")
  const value = sign === undefined ? power(reading) : exponent(reading)
  return value === undefined || sign !== "-" ? value : Formula.negate(value)
}

const power = (reading: Reading): Parsed => {
  if (++reading.depth > deepest) return undefined
  const base = postfixed(reading)
  const raised = base === undefined || take(reading, "^") === undefined ? undefined : exponent(reading)
  const isPlain = reading.tokens[reading.at - 1]?.text !== "^"
  reading.depth--
  if (base === undefined || raised === undefined) return isPlain ? base : undefined
  return Formula.binary("^", base, raised)
}

const signed = (reading: Reading): Parsed => {
  if (++reading.depth > deepest) return undefined
  const sign = take(reading, "-", "+")
  const value = sign === undefined ? power(reading) : signed(reading)
  reading.depth--
  return value === undefined || sign !== "-" ? value : Formula.negate(value)
}

const startsFactor = (reading: Reading) => {
  const token = reading.tokens[reading.at]
  return token !== undefined && (token.kind !== "sign" || token.text === "(" || token.text === "{")
}

const isWhole = (formula: Formula.Formula) => formula._tag === "Number" && formula.value.denominator === 1n

const isQuotientOfWholes = (formula: Formula.Formula) =>
  formula._tag === "Binary" && formula.operator === "/" && isWhole(formula.left) && isWhole(formula.right)

/** An integer before a fraction forms a mixed number: both `2\frac13` and `2 1/3` are 7/3. */
const mixedNumber = (reading: Reading, whole: Formula.Formula): Parsed => {
  const start = reading.at
  if (!isWhole(whole) || reading.tokens[start - 1]?.kind !== "number") return undefined
  const token = reading.tokens[start]
  const isFraction = token?.text === "frac" || (token?.kind === "number" && reading.tokens[start + 1]?.text === "/")
  const above = isFraction ? atom(reading) : undefined
  const below = token?.kind === "number" && take(reading, "/") !== undefined ? atom(reading) : undefined
  const part = above === undefined || below === undefined ? above : Formula.binary("/", above, below)
  if (part !== undefined && isQuotientOfWholes(part)) return Formula.binary("+", whole, part)
  reading.at = start
  return undefined
}

const product = (reading: Reading): Parsed => {
  const isNegative = take(reading, "-") !== undefined
  const first = signed(reading)
  let left = first === undefined ? undefined : mixedNumber(reading, first) ?? first
  if (isNegative && left !== undefined) left = Formula.negate(left)
  while (left !== undefined && (startsFactor(reading) || peek(reading, "*", "/"))) {
    const operator = take(reading, "*", "/") === "/" ? "/" : "*"
    const right = signed(reading)
    left = right === undefined ? undefined : Formula.binary(operator, left, right)
  }
  return left
}

const sum = (reading: Reading): Parsed => {
  if (++reading.depth > deepest) return undefined
  let left = product(reading)
  for (let sign = take(reading, "+", "-"); left !== undefined && sign !== undefined; sign = take(reading, "+", "-")) {
    const right = product(reading)
    left = right === undefined ? undefined : Formula.binary(sign === "-" ? "-" : "+", left, right)
  }
  reading.depth--
  return left
}

/** Parses a formula. None if the text is not a formula or is nested too deeply. `i` is the imaginary unit, and decimals are exact. */
export const parse = (latex: string): Option.Option<Formula.Formula> => {
  const tokens = tokensOf(latex)
  if (tokens === undefined || tokens.length === 0) return Option.none()
  const reading: Reading = { tokens: splitDigits(tokens), at: 0, depth: 0 }
  const formula = sum(reading)
  return formula !== undefined && reading.at === reading.tokens.length ? Option.some(formula) : Option.none()
}
