/**
 * A loss as one typed expression over the log-probabilities of one datum. The expression provides the loss value and gradient in this
 * process, the graph that Tinker servers and the engine compute in one pass, and the formula.
 *
 * An expression reads only one datum. For a loss across datums, such as a preference between two, use `TrainingClient.CustomLoss`.
 *
 * @example
 * ```ts
 * const { exp, mul, neg, sub } = LossTerm
 *
 * export const reinforce = LossExpression.make(
 *   "reinforce",
 *   {},
 *   ({ advantages, logprobs, samplerLogprobs }) => neg(mul(exp(sub(logprobs, samplerLogprobs)), advantages))
 * )
 *
 * LossExpression.formula(reinforce) // L = \sum_{t} \left[-…\right]
 * ```
 */
import * as Record from "effect/Record"
import * as Result from "effect/Result"
import type * as Datum from "../model/Datum.ts"
import type * as Loss from "../model/Loss.ts"
import * as Emit from "./Emit.ts"
import * as Formula from "./Formula.ts"
import * as LossGraph from "./LossGraph.ts"
import type { Any, Shape, Term } from "./LossTerm.ts"

/** The names of additional inputs, each with one number per token or one per sequence. */
export type Extras = Readonly<Record<string, Shape>>

/**
 * The terms that a body can use: log-probabilities ℓ of the current policy and q of the sampler, the advantage A, the mask, and the extras.
 */
export type Inputs<X extends Extras> = Readonly<
  & Record<"logprobs" | "samplerLogprobs" | "advantages" | "mask", Term<"token", "number">>
  & { [K in keyof X]: Term<X[K], "number"> }
>

/** The extras' values for one datum. */
export type ExtraValues<X extends Extras> = { readonly [K in keyof X]: X[K] extends "token" ? Float32Array : number }

/** A datum with the values of the extras. */
export type Example<X extends Extras> =
  & Datum.Datum<"PolicyTokens">
  & (keyof X extends never ? unknown : { readonly extras: ExtraValues<X> })

/** A policy loss of one datum as an expression, with its graph and its formula. */
export interface LossExpression<in out X extends Extras = {}> {
  /** The loss of a datum depends only on that datum. */
  readonly scope: "datum"
  readonly name: string
  readonly parameters: Readonly<Record<string, number>>
  readonly extras: X
  /** The backend's built-in loss that computes the same, if there is one. */
  readonly equivalent: Loss.Loss<"PolicyTokens"> | undefined
  readonly body: Term<Shape, "number">
  readonly graph: LossGraph.LossGraph
}

/** The parameters, additional inputs, symbols and named equivalent of a loss expression. */
export interface Options<P extends Readonly<Record<string, number>>, X extends Extras> {
  /** Numbers that the body gets as terms. Default: none. */
  readonly parameters?: P
  /** Inputs of the loss beyond the common ones, per token or per sequence. Default: none. */
  readonly extras?: X
  /** LaTeX symbols of parameters and extras. Default: their names. */
  readonly symbols?: { readonly [K in keyof NoInfer<P> | keyof NoInfer<X>]?: string }
  /** The named loss that computes the same, which a backend that has it computes by name. Default: none. */
  readonly equivalent?: Loss.Loss<"PolicyTokens"> | undefined
}

const standard = {
  logprobs: "\\ell_t",
  samplerLogprobs: "q_t",
  advantages: "A_t",
  mask: "m_t"
} as const

/** Converts a name to the wire's snake case. */
const wireName = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const symbolOf = (symbols: Readonly<Record<string, string | undefined>>, name: string) =>
  symbols[name] ?? `\\mathrm{${name}}`

const inputTerm = <S extends Shape>(name: string, shape: S, symbol: string): Term<S, "number"> => ({
  shape,
  type: "number",
  node: { _tag: "Input", name: wireName(name), symbol }
})

function inputTerms<X extends Extras>(extras: X, symbols: Readonly<Record<string, string | undefined>>): Inputs<X>
function inputTerms(
  extras: Extras,
  symbols: Readonly<Record<string, string | undefined>>
): Readonly<Record<string, Term<Shape, "number">>> {
  return {
    ...Record.map(standard, (symbol, name) => inputTerm(name, "token", symbol)),
    ...Record.map(
      extras,
      (shape, name) => inputTerm(name, shape, symbols[name] ?? `${symbolOf({}, name)}${shape === "token" ? "_t" : ""}`)
    )
  }
}

const parameterTerm = (value: number, symbol: string): Term<"sequence", "number"> => ({
  shape: "sequence",
  type: "number",
  node: { _tag: "Parameter", symbol, value }
})

function parameterTerms<P extends Readonly<Record<string, number>>>(
  parameters: P,
  symbols: Readonly<Record<string, string | undefined>>
): { readonly [K in keyof P]: Term<"sequence", "number"> }
function parameterTerms(
  parameters: Readonly<Record<string, number>>,
  symbols: Readonly<Record<string, string | undefined>>
): Readonly<Record<string, Term<"sequence", "number">>> {
  return Record.map(parameters, (value, name) => parameterTerm(value, symbolOf(symbols, name)))
}

/** Fills in empty parameters and extras. */
function withDefaults<P extends Readonly<Record<string, number>>, X extends Extras>(options: Options<P, X>): [P, X]
function withDefaults(options: Options<Readonly<Record<string, number>>, Extras>) {
  return [options.parameters ?? {}, options.extras ?? {}]
}

interface Extended {
  readonly extras?: Readonly<Record<string, Float32Array | number>>
}

function extraOf<X extends Extras>(example: Example<X>, name: string): Float32Array | number | undefined
function extraOf({ extras }: Extended, name: string) {
  return extras?.[name]
}

/** All inputs, in the form in which the graph declares them. */
const declared = (extras: Extras): ReadonlyArray<LossGraph.Input> => [
  ...Object.keys(standard).map((name): LossGraph.Input => ({ name: wireName(name), rank: 1 })),
  ...Object.entries(extras).map(([name, shape]): LossGraph.Input => ({
    name: wireName(name),
    rank: shape === "token" ? 1 : 0
  }))
]

/**
 * Creates a loss from a body, which returns one number per token, summed over the action tokens, or one per sequence. Positions whose mask
 * is 0 contribute only to sums and means with weights; a NaN among their inputs is read as 0.
 */
export const make = <const P extends Readonly<Record<string, number>> = {}, const X extends Extras = {}>(
  name: string,
  options: Options<P, X>,
  body: (
    inputs: Inputs<NoInfer<X>>,
    parameters: { readonly [K in keyof P]: Term<"sequence", "number"> }
  ) => Term<Shape, "number">
): LossExpression<X> => {
  const { equivalent, symbols = {} } = options
  const [parameters, extras] = withDefaults(options)
  const terms = parameterTerms(parameters, symbols)
  const term = body(inputTerms(extras, symbols), terms)
  const graph = Emit.emit(name, term, declared(extras))
  return { scope: "datum", name, parameters, extras, equivalent, body: term, graph }
}

/** Whether the loss of each token depends on no other token: no term is a sum or a mean over tokens, and there are no extras. */
export const isPerToken = <X extends Extras>({ body, extras }: LossExpression<X>): boolean => {
  const isPerToken = ({ node }: Any): boolean => {
    switch (node._tag) {
      case "Apply":
        return node.operands.every(isPerToken)
      case "Clamp":
        return [node.of, node.low, node.high].every((term) => term === undefined || isPerToken(term))
      case "Named":
        return isPerToken(node.of)
      case "Sum":
      case "Mean":
        return false
      default:
        return true
    }
  }
  return Object.keys(extras).length === 0 && isPerToken(body)
}

/** The LaTeX formula: the loss of one datum, then the definitions of its symbols. */
export const formula = <X extends Extras>({ body }: LossExpression<X>): string => Formula.formula(body)

const vector = (data: Float32Array, isMissing: (at: number) => boolean): LossGraph.Values => ({
  data: data.includes(NaN) ? data.map((value, at) => Number.isNaN(value) && isMissing(at) ? 0 : value) : data,
  shape: [data.length]
})

/** Functions that read the graph's inputs from an example, by their declared names, without `logprobs`. */
const readers = <X extends Extras>({ extras, graph }: LossExpression<X>) => {
  type Read = (example: Example<X>) => Float32Array | number | undefined
  const all: ReadonlyArray<readonly [name: string, read: Read]> = [
    ["samplerLogprobs", ({ inputs }) => inputs.logprobs],
    ["advantages", ({ inputs }) => inputs.advantages],
    ["mask", ({ inputs }) => inputs.mask],
    ...Object.keys(extras).map((name): [string, Read] => [name, (example) => extraOf(example, name)])
  ]
  const declared = new Set(graph.inputs.map(({ name }) => name))
  return all.map(([name, read]) => [wireName(name), read] as const).filter(([name]) => declared.has(name))
}

/** A function that returns the graph's inputs for a datum, except `logprobs`. A NaN at a position whose mask is 0 becomes 0. */
export const values = <X extends Extras>(
  expression: LossExpression<X>
): (example: Example<X>) => Readonly<Record<string, LossGraph.Values>> => {
  const known = readers(expression)
  return (example) => {
    const { mask } = example.inputs
    const isMissing = (at: number) => mask[at] === 0
    const found: Record<string, LossGraph.Values> = {}
    for (const [name, read] of known) {
      const value = read(example)
      if (value === undefined) continue
      found[name] = typeof value === "number" ? { data: [value], shape: [] } : vector(value, isMissing)
    }
    return found
  }
}

/** For each sum and mean in a term, the mask or the weights over which it ranges. */
const reductions = (term: Any): ReadonlyArray<Any | "mask"> => {
  const { node } = term
  switch (node._tag) {
    case "Apply":
      return node.operands.flatMap(reductions)
    case "Clamp":
      return [node.of, node.low, node.high].flatMap((operand) => operand === undefined ? [] : reductions(operand))
    case "Named":
      return reductions(node.of)
    case "Sum":
    case "Mean":
      return [...reductions(node.of), node.weights ?? "mask"]
    default:
      return []
  }
}

/** The names of the inputs over which sums and means range; an empty name stands for computed weights. */
const countingInputs = (body: Any): ReadonlySet<string> =>
  new Set(
    [...reductions(body), ...(body.shape === "token" ? ["mask" as const] : [])].map((over) =>
      over === "mask" ? over : over.node._tag === "Input" ? over.node.name : ""
    )
  )

/**
 * A function that marks the positions of a datum whose log-probabilities the loss depends on, shape `[T]`: 1 where a sum or a mean counts
 * the position, through the mask or an input used as weights, otherwise 0. If some weights are computed, all positions are 1.
 */
export const counted = <X extends Extras>(expression: LossExpression<X>): (example: Example<X>) => Uint8Array => {
  const [names, valuesOf] = [countingInputs(expression.body), values(expression)]
  return (example) => {
    const { mask } = example.inputs
    const found = new Uint8Array(mask.length)
    for (const name of names) {
      const weights = name === "mask" ? mask : valuesOf(example)[name]?.data
      for (let t = 0; t < found.length; t++) if (weights?.[t] !== 0) found[t] = 1
    }
    return found
  }
}

/** The loss of one datum and its gradient, given the current log-probabilities, shape `[T]`. Fails if an input is missing or misshapen. */
export const evaluate = <X extends Extras>(
  expression: LossExpression<X>,
  example: Example<X>,
  logprobs: ArrayLike<number>
): Result.Result<LossGraph.Evaluation, LossGraph.LossGraphError> =>
  Result.flatMap(LossGraph.compile(expression.graph), (compiled) =>
    LossGraph.evaluate(compiled, {
      ...values(expression)(example),
      logprobs: { data: logprobs, shape: [logprobs.length] }
    }))
