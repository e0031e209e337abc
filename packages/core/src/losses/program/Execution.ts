/** Runs token programs for many data at once, only at the counted tokens. */
import * as Register from "./Register.ts"
import type { Inputs, TokenProgram, Values } from "./TokenProgram.ts"

type Register = Register.Register

const isVector = ({ data, shape }: Values, tokens: number) =>
  shape.length === 1 && shape[0] === data.length && data.length === tokens

const isNumber = ({ data, shape }: Values) => shape.length === 0 && data.length === 1

/** The number of tokens of a datum, from the length of its log-probabilities; undefined if these are not a vector. */
export const tokensOf = ({ logprobs }: Inputs): number | undefined =>
  logprobs !== undefined && isVector(logprobs, logprobs.data.length) ? logprobs.data.length : undefined

/** The first invalid input of a datum of `tokens` tokens, and why it is invalid. The log-probabilities are not checked. */
export const misfit = (
  program: TokenProgram,
  datum: Inputs,
  tokens: number
): readonly [input: string, detail: string] | undefined => {
  for (const [name, register] of program.inputs) {
    if (register === program.logprobs) continue
    const values = datum[name]
    if (values === undefined) return [name, "the datum has no such input"]
    const rank = register.extent === "datum" ? 0 : 1
    if (values.shape.length !== rank) return [name, `has rank ${values.shape.length}, declared with rank ${rank}`]
    if (!(register.extent === "datum" ? isNumber(values) : isVector(values, tokens))) {
      return [name, `has ${values.data.length} values, expected ${rank === 0 ? 1 : tokens}`]
    }
  }
  return undefined
}

/** An upper bound on the numbers computed for a datum: every value at every token. */
export const costOf = ({ instructions, perToken }: TokenProgram, tokens: number): number =>
  perToken * tokens + instructions.length - perToken

/** The tokens for which values are computed, in the order of the data. */
interface Layout extends Register.Layout {
  /** The index at which the tokens of each datum begin, and the end of the last datum. */
  readonly starts: Int32Array
  /** The position of each token in its datum. */
  readonly placeOf: Int32Array
}

/** The result of evaluating a graph on one datum. */
export interface Evaluation {
  readonly loss: number
  /** ∂loss/∂logprobs, with the shape of `logprobs`. */
  readonly gradient: Float64Array
  /** Whether the loss depends on `logprobs` other than through `stopGradient`. */
  readonly hasGradient: boolean
  readonly metrics: Readonly<Record<string, number>>
}

const isNot0 = (weights: ReadonlyArray<ArrayLike<number>>, place: number): boolean => {
  for (const values of weights) if (!Object.is(values[place], 0)) return true
  return false
}

const layoutOf = ({ counting, inputs }: TokenProgram, data: ReadonlyArray<Inputs>): Layout => {
  const weightNames = inputs.flatMap(([name, register]) => counting?.includes(register) === true ? [name] : [])
  const most = data.reduce((sum, datum) => sum + (tokensOf(datum) ?? 0), 0)
  const [datumOf, placeOf, starts] = [new Int32Array(most), new Int32Array(most), new Int32Array(data.length + 1)]
  let tokens = 0
  for (const [datum, own] of data.entries()) {
    const count = tokensOf(own) ?? 0
    const weights = weightNames.map((name) => own[name]?.data ?? [])
    for (let place = 0; place < count; place++) {
      if (counting !== undefined && !isNot0(weights, place)) continue
      datumOf[tokens] = datum
      placeOf[tokens] = place
      tokens++
    }
    starts[datum + 1] = tokens
  }
  return { tokens, data: data.length, datumOf, starts, placeOf }
}

const fill = ({ extent, values: to }: Register, name: string, data: ReadonlyArray<Inputs>, layout: Layout) => {
  const { placeOf, starts } = layout
  for (const [datum, inputs] of data.entries()) {
    const values = inputs[name]?.data ?? []
    if (extent === "datum") to[datum] = values[0] ?? NaN
    else for (let i = starts[datum] ?? 0; i < (starts[datum + 1] ?? 0); i++) to[i] = values[placeOf[i] ?? 0] ?? NaN
  }
}

const compute = (
  { constants, inputs, instructions, loss }: TokenProgram,
  data: ReadonlyArray<Inputs>,
  layout: Layout
) => {
  for (const [, register] of inputs) Register.prepare(register, layout)
  for (const register of constants) Register.prepare(register, layout)
  for (const { output } of instructions) Register.prepare(output, layout)
  for (const [name, register] of inputs) fill(register, name, data, layout)
  for (const { forward } of instructions) forward(layout)
  if (loss.isTracked) loss.slopes.fill(1, 0, layout.data)
  for (let at = instructions.length - 1; at >= 0; at--) instructions[at]?.back(layout)
}

/** ∂loss/∂logprobs of each datum at all of its tokens, as views of one array. */
const gradientsOf = ({ slopes }: Register, data: ReadonlyArray<Inputs>, { placeOf, starts }: Layout) => {
  const all = new Float64Array(placeOf.length)
  let end = 0
  return data.map((inputs, datum) => {
    const start = end
    end += tokensOf(inputs) ?? 0
    for (let i = starts[datum] ?? 0; i < (starts[datum + 1] ?? 0); i++) {
      all[start + (placeOf[i] ?? 0)] = slopes[i] ?? NaN
    }
    return all.subarray(start, end)
  })
}

/** Evaluates a program on data whose inputs fit it. The result is a function of the datum's index. */
export const evaluate = (program: TokenProgram, data: ReadonlyArray<Inputs>): (datum: number) => Evaluation => {
  const layout = layoutOf(program, data)
  compute(program, data, layout)
  const { logprobs, loss, metrics } = program
  const valuesOf = ({ values }: Register) => values.slice(0, data.length)
  const gradients = gradientsOf(logprobs, data, layout)
  const losses = valuesOf(loss)
  const named = metrics.map(([name, register]) => [name, valuesOf(register)] as const)
  return (datum) => ({
    loss: losses[datum] ?? NaN,
    gradient: gradients[datum] ?? new Float64Array(),
    hasGradient: loss.isTracked,
    metrics: Object.fromEntries(named.map(([name, values]) => [name, values[datum] ?? NaN]))
  })
}
