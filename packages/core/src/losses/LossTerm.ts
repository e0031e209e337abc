/**
 * Terms of a loss expression: numbers or conditions, per token or per sequence. A term's type restricts its use: code that uses a condition
 * as a number, or sums a term that already has one value per sequence, does not compile.
 *
 * Reductions range over the action tokens, whose mask is not 0, unless they are given weights.
 *
 * @example
 * const { clamp, minimum, mul, neg, sum } = LossTerm
 * const clipped = LossExpression.make("clipped", {}, ({ advantages, logprobs, samplerLogprobs }) => {
 *   const ratio = LossTerm.exp(LossTerm.sub(logprobs, samplerLogprobs))
 *   return neg(sum(minimum(mul(ratio, advantages), mul(clamp(ratio, { low: 0.8, high: 1.2 }), advantages))))
 * })
 */

export type Shape = "token" | "sequence"
/** Whether a term's values are numbers or conditions. */
export type Type = "number" | "boolean"

/** The operators with one numeric operand. */
export type Unary =
  | "neg"
  | "exp"
  | "log"
  | "sigmoid"
  | "logSigmoid"
  | "square"
  | "sqrt"
  | "abs"
  | "sign"
  | "stopGradient"
/** The operators with two numeric operands. */
export type Binary = "add" | "sub" | "mul" | "div" | "minimum" | "maximum"
/** The comparisons between two numbers. */
export type Comparison = "gt" | "ge" | "lt" | "le"
/** The operators on conditions. */
export type Logic = "and" | "or" | "not"
/** All operators of terms. */
export type Operator = Unary | Binary | Comparison | Logic | "where"

/** How a term is computed. A term that is used several times is computed once. */
export type Node =
  | { readonly _tag: "Input"; readonly name: string; readonly symbol: string }
  | { readonly _tag: "Parameter"; readonly symbol: string; readonly value: number }
  | { readonly _tag: "Number"; readonly value: number }
  | { readonly _tag: "Apply"; readonly operator: Operator; readonly operands: ReadonlyArray<Any> }
  | { readonly _tag: "Clamp"; readonly of: Any; readonly low: Any | undefined; readonly high: Any | undefined }
  | { readonly _tag: "Sum" | "Mean"; readonly of: Any; readonly weights: Any | undefined }
  | { readonly _tag: "Named"; readonly symbol: string; readonly of: Any }

/** A term with one value per token or one per sequence, according to `shape`. Its values are numbers or conditions, according to `type`. */
export interface Term<out S extends Shape, out T extends Type> {
  readonly shape: S
  readonly type: T
  readonly node: Node
}

/** A term of any shape and type. */
export type Any = Term<Shape, Type>

/** A number per token or per sequence. JavaScript numbers are constants. */
export type Value = Term<Shape, "number"> | number

/** A condition per token or per sequence. */
export type Condition = Term<Shape, "boolean">

type ShapeOf<A> = A extends Term<infer S, Type> ? S : "sequence"

/** "token" if any operand is per token, otherwise "sequence". */
export type Wider<A> = "token" extends ShapeOf<A> ? "token" : "sequence"

/** Whether a value is a term and not a constant. */
export const isTerm = (value: Value | Condition): value is Any => typeof value === "object"

const shapeOf = (value: Value | Condition): Shape => isTerm(value) ? value.shape : "sequence"

const lift = (value: Value | Condition): Any =>
  isTerm(value) ? value : { shape: "sequence", type: "number", node: { _tag: "Number", value } }

function widest<A extends Value | Condition>(operands: ReadonlyArray<A>): Wider<A>
function widest(operands: ReadonlyArray<Value | Condition>): Shape {
  return operands.some((operand) => shapeOf(operand) === "token") ? "token" : "sequence"
}

const apply = <A extends Value | Condition, T extends Type>(
  operator: Operator,
  type: T,
  operands: ReadonlyArray<A>
): Term<Wider<A>, T> => ({
  shape: widest(operands),
  type,
  node: { _tag: "Apply", operator, operands: operands.map(lift) }
})

const unary = (operator: Unary) => <A extends Value>(operand: A): Term<Wider<A>, "number"> =>
  apply(operator, "number", [operand])

const compare =
  (operator: Comparison) => <A extends Value, B extends Value>(left: A, right: B): Term<Wider<A | B>, "boolean"> =>
    apply<A | B, "boolean">(operator, "boolean", [left, right])

/** Applies a binary operation to two or more operands, from left to right. */
const chain =
  (operator: "add" | "mul" | "minimum" | "maximum") =>
  <A extends Value, B extends Value, C extends ReadonlyArray<Value>>(
    first: A,
    second: B,
    ...others: C
  ): Term<Wider<A | B | C[number]>, "number"> => {
    const start = apply<A | B | C[number], "number">(operator, "number", [first, second])
    return others.reduce<Term<Wider<A | B | C[number]>, "number">>(
      (sum, other) => ({
        ...start,
        shape: widest<A | B | C[number]>([first, second, ...others]),
        node: { _tag: "Apply", operator, operands: [sum, lift(other)] }
      }),
      start
    )
  }

/** The sum of two or more operands. */
export const add = chain("add")
/** The product of two or more operands. */
export const mul = chain("mul")
/** The smallest of two or more operands. Equal terms share the gradient; if a term equals a constant, it gets no gradient. */
export const minimum = chain("minimum")
/** The largest of two or more operands. Equal terms share the gradient; if a term equals a constant, it gets no gradient. */
export const maximum = chain("maximum")

/** left − right. */
export const sub = <A extends Value, B extends Value>(left: A, right: B): Term<Wider<A | B>, "number"> =>
  apply<A | B, "number">("sub", "number", [left, right])

/** left / right. */
export const div = <A extends Value, B extends Value>(left: A, right: B): Term<Wider<A | B>, "number"> =>
  apply<A | B, "number">("div", "number", [left, right])

/** −x. */
export const neg = unary("neg")
/** eˣ. */
export const exp = unary("exp")
/** The natural logarithm. */
export const log = unary("log")
/** 1 / (1 + e⁻ˣ). */
export const sigmoid = unary("sigmoid")
/** log σ(x), computed without overflow. */
export const logSigmoid = unary("logSigmoid")
/** x². */
export const square = unary("square")
/** √x. */
export const sqrt = unary("sqrt")
/** |x|. */
export const abs = unary("abs")
/** The sign of x: −1, 0 or 1. It has no gradient. */
export const sign = unary("sign")
/** The same value without a gradient. */
export const stopGradient = unary("stopGradient")

/** left > right. */
export const gt = compare("gt")
/** left ≥ right. */
export const ge = compare("ge")
/** left < right. */
export const lt = compare("lt")
/** left ≤ right. */
export const le = compare("le")

/** Whether both conditions hold. */
export const and = <A extends Condition, B extends Condition>(left: A, right: B): Term<Wider<A | B>, "boolean"> =>
  apply<A | B, "boolean">("and", "boolean", [left, right])

/** Whether at least one of the conditions holds. */
export const or = <A extends Condition, B extends Condition>(left: A, right: B): Term<Wider<A | B>, "boolean"> =>
  apply<A | B, "boolean">("or", "boolean", [left, right])

/** Whether the condition does not hold. */
export const not = <A extends Condition>(condition: A): Term<Wider<A>, "boolean"> =>
  apply("not", "boolean", [condition])

/** Chooses one of two values by a condition. The other value gets no gradient. */
export const where = <C extends Condition, A extends Value, B extends Value>(
  condition: C,
  yes: A,
  no: B
): Term<Wider<A | B | C>, "number"> => apply<A | B | C, "number">("where", "number", [condition, yes, no])

/**
 * Limits a value to bounds, with the gradient of torch 2.15: 0 if the value is on or beyond a constant bound, and half if it equals a bound
 * that is a term.
 */
export const clamp = <A extends Value, B extends Value = never, C extends Value = never>(
  value: A,
  bounds: { readonly low?: B | undefined; readonly high?: C | undefined }
): Term<Wider<A | B | C>, "number"> => {
  const limits = [bounds.low, bounds.high].flatMap((bound) => bound === undefined ? [] : [bound])
  return {
    shape: widest<A | B | C>([value, ...limits]),
    type: "number",
    node: {
      _tag: "Clamp",
      of: lift(value),
      low: bounds.low === undefined ? undefined : lift(bounds.low),
      high: bounds.high === undefined ? undefined : lift(bounds.high)
    }
  }
}

type PerToken = Term<"token", "number">

const reduce = (_tag: "Sum" | "Mean") => (of: PerToken, weights?: PerToken): Term<"sequence", "number"> => ({
  shape: "sequence",
  type: "number",
  node: { _tag, of, weights }
})

/** The sum over the action tokens, or the weighted sum over all tokens. */
export const sum = reduce("Sum")

/** `sum` divided by the number of action tokens, or by the sum of the weights. 0 without action tokens, or if all weights are 0. */
export const mean = reduce("Mean")

/** Gives a term a LaTeX symbol. The formula defines the symbol once and then uses it. */
export const named = <S extends Shape, T extends Type>(symbol: string, of: Term<S, T>): Term<S, T> => ({
  shape: of.shape,
  type: of.type,
  node: { _tag: "Named", symbol, of }
})
