/** Computes programs of tokens for many data at once, at the tokens that count. */
import * as Register from "./Register.ts"
import type { Inputs, TokenProgram } from "./TokenProgram.ts"

type Register = Register.Register

const tokensOf = ({ logprobs }: Inputs): number => logprobs?.data.length ?? 0

/** Whether a datum has every input, one value for each of its tokens or one in all. */
export const fits = ({ inputs }: TokenProgram, datum: Inputs): boolean => {
  const tokens = tokensOf(datum)
  for (const [name, { extent }] of inputs) {
    const values = datum[name]
    if (values === undefined) return false
    const { data, shape } = values
    const isFit = extent === "datum"
      ? shape.length === 0 && data.length === 1
      : shape.length === 1 && shape[0] === data.length && data.length === tokens
    if (!isFit) return false
  }
  return true
}

/** Numbers of a datum's values, each of which is computed wherever it counts. */
export const elementsOf = ({ instructions, perToken }: TokenProgram, datum: Inputs): number =>
  perToken * tokensOf(datum) + instructions.length - perToken

/** The tokens that are computed, those of one datum after those of another. */
interface Layout extends Register.Layout {
  /** Where the tokens of each datum begin, and behind the last one where they end. */
  readonly starts: Int32Array
  /** The place of each token in its datum. */
  readonly placeOf: Int32Array
}

/** 1 at the tokens of a datum that count. */
const countsOf = ({ counting, inputs }: TokenProgram, datum: Inputs): Uint8Array => {
  const counts = new Uint8Array(tokensOf(datum))
  if (counting === undefined) return counts.fill(1)
  for (const [name, register] of inputs) {
    if (!counting.includes(register)) continue
    const values = datum[name]?.data ?? []
    for (let place = 0; place < counts.length; place++) if (!Object.is(values[place], 0)) counts[place] = 1
  }
  return counts
}

const layoutOf = (program: TokenProgram, data: ReadonlyArray<Inputs>): Layout => {
  const most = data.reduce((sum, datum) => sum + tokensOf(datum), 0)
  const [datumOf, placeOf, starts] = [new Int32Array(most), new Int32Array(most), new Int32Array(data.length + 1)]
  let tokens = 0
  for (const [datum, inputs] of data.entries()) {
    const counts = countsOf(program, inputs)
    for (let place = 0; place < counts.length; place++) {
      if (counts[place] === 0) continue
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
    end += tokensOf(inputs)
    for (let i = starts[datum] ?? 0; i < (starts[datum + 1] ?? 0); i++) {
      all[start + (placeOf[i] ?? 0)] = slopes[i] ?? NaN
    }
    return all.subarray(start, end)
  })
}

/** Of data that all fit. */
export const evaluate = (program: TokenProgram, data: ReadonlyArray<Inputs>) => {
  const layout = layoutOf(program, data)
  compute(program, data, layout)
  const { logprobs, loss, metrics } = program
  const gradients = gradientsOf(logprobs, data, layout)
  return data.map((inputs, datum) => ({
    loss: loss.values[datum] ?? NaN,
    gradient: gradients[datum] ?? new Float64Array(),
    hasGradient: loss.isTracked,
    elements: elementsOf(program, inputs),
    metrics: Object.fromEntries(metrics.map(([name, { values }]) => [name, values[datum] ?? NaN]))
  }))
}
