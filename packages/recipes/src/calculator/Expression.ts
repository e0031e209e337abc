/** Parses and evaluates arithmetic expressions exactly, without executing them as code. */
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Rational from "../grading/Rational.ts"

export class ExpressionError extends Schema.TaggedError<ExpressionError>()("ExpressionError", {
  expression: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `"${this.expression}" cannot be worked out: ${this.detail}`
  }
}

/** The most characters of an expression. The limit keeps evaluation fast on any model output. */
const longest = 200

interface Reading {
  readonly tokens: ReadonlyArray<string>
  at: number
}

type Worked = Result.Result<Rational.Rational, string>

const token = /\s*(?:(\d+(?:\.\d+)?|\.\d+)|([-+*/()])|(\S))/g

const operators: Readonly<Record<string, string>> = { "×": "*", "÷": "/", "−": "-" }

const tokensOf = (text: string) =>
  Array.from(text.replace(/[×÷−]/g, (sign) => operators[sign] ?? sign).matchAll(token), ([found]) => found.trim())

const take = (reading: Reading, ...wanted: ReadonlyArray<string>) => {
  const found = reading.tokens[reading.at]
  if (found === undefined || !wanted.includes(found)) return undefined
  reading.at++
  return found
}

const found = ({ at, tokens }: Reading) => tokens[at] === undefined ? "it ends" : `there is "${tokens[at]}"`

const factor = (reading: Reading): Worked => {
  const sign = take(reading, "+", "-")
  if (sign !== undefined) return sign === "-" ? Result.map(factor(reading), Rational.negate) : factor(reading)
  if (take(reading, "(") !== undefined) {
    return Result.flatMap(
      sum(reading),
      (value) =>
        take(reading, ")") === undefined
          ? Result.fail(`${found(reading)} where ")" is expected`)
          : Result.succeed(value)
    )
  }
  const value = Rational.parse(
    /^[\d.]+$/.test(reading.tokens[reading.at] ?? "") ? reading.tokens[reading.at] ?? "" : ""
  )
  if (Option.isNone(value)) return Result.fail(`${found(reading)} where a number is expected`)
  reading.at++
  return Result.succeed(value.value)
}

const product = (reading: Reading): Worked => {
  let value = factor(reading)
  for (
    let sign = take(reading, "*", "/");
    sign !== undefined && Result.isSuccess(value);
    sign = take(reading, "*", "/")
  ) {
    const left = value.success
    value = Result.flatMap(factor(reading), (right) =>
      sign === "*"
        ? Result.succeed(Rational.multiply(left, right))
        : Result.fromOption(Rational.divide(left, right), () => "it divides by zero"))
  }
  return value
}

const sum = (reading: Reading): Worked => {
  let value = product(reading)
  for (
    let sign = take(reading, "+", "-");
    sign !== undefined && Result.isSuccess(value);
    sign = take(reading, "+", "-")
  ) {
    const left = value.success
    value = Result.map(product(reading), (right) => Rational.add(left, sign === "-" ? Rational.negate(right) : right))
  }
  return value
}

/**
 * The exact value of an expression with numbers, `+ - * / × ÷` and parentheses. Fails if the expression is malformed, divides by zero or
 * has more than 200 characters.
 *
 * @example
 * const value = Result.map(Expression.evaluate("(1 + 2) / 4"), Rational.toString) // "3/4"
 */
export const evaluate = (expression: string): Result.Result<Rational.Rational, ExpressionError> => {
  const fail = (detail: string) => new ExpressionError({ expression: expression.slice(0, longest), detail })
  if (expression.length > longest) return Result.fail(fail(`it is longer than ${longest} characters`))
  const reading: Reading = { tokens: tokensOf(expression), at: 0 }
  return Result.mapError(
    Result.flatMap(sum(reading), (value) =>
      reading.at === reading.tokens.length
        ? Result.succeed(value)
        : Result.fail(`${found(reading)} where an operator is expected`)),
    fail
  )
}
