/** Arrays that hold one value for many data, and the instructions that compute one array from others, forward and backward. */
import * as Loops from "./Loops.ts"
import type { Binary, Unary } from "./Pointwise.ts"

/** A number per token, or one per datum. */
export type Extent = "token" | "datum"

/** The values for all data and, if they depend on the log-probabilities, the slopes of the loss. */
export interface Register {
  readonly extent: Extent
  readonly isTracked: boolean
  /** The value of every element, if it is a constant. */
  readonly constant: number | undefined
  values: Float64Array
  slopes: Float64Array
}

/** The data of one evaluation: the tokens of each datum follow those of the previous one. */
export interface Layout {
  readonly tokens: number
  readonly data: number
  /** The index of each token's datum. */
  readonly datumOf: Int32Array
}

/** A computation step. `back` adds to the slopes of the operands. */
export interface Instruction {
  readonly output: Register
  readonly forward: (layout: Layout) => void
  readonly back: (layout: Layout) => void
}

const empty = new Float64Array()

export const make = (extent: Extent, isTracked = false, constant?: number): Register => ({
  extent,
  isTracked,
  constant,
  values: empty,
  slopes: empty
})

const countOf = ({ extent }: Register, { data, tokens }: Layout): number => extent === "token" ? tokens : data

/** Clears the slopes. Arrays that are too short for the data are replaced by arrays of 1.5 times the needed length. */
export const prepare = (register: Register, layout: Layout): void => {
  const count = countOf(register, layout)
  if (register.values.length < count) {
    const room = count + (count >> 1)
    register.values = new Float64Array(room).fill(register.constant ?? 0)
    if (register.isTracked) register.slopes = new Float64Array(room)
  }
  if (register.isTracked) register.slopes.fill(0, 0, count)
}

const nothing = () => {}

const pointwise = (x: Register, y: Register | undefined, { back, forward }: Loops.Loops): Instruction => {
  const output = make(x.extent, (x.isTracked || y?.isTracked === true) && back !== undefined)
  return {
    output,
    forward: (layout) => forward(x.values, (y ?? x).values, output.values, countOf(output, layout)),
    back: !output.isTracked || back === undefined ? nothing : (layout) => {
      const count = countOf(output, layout)
      const [left, right] = [x.values, (y ?? x).values]
      const [ofX, ofY] = back
      if (x.isTracked) ofX?.(output.slopes, left, right, output.values, x.slopes, count)
      if (y?.isTracked === true) ofY?.(output.slopes, left, right, output.values, y.slopes, count)
    }
  }
}

export const unary = (x: Register, operation: Unary): Instruction =>
  pointwise(x, undefined, operation.loops ?? Loops.ofOne(operation))

/** An elementwise operation on two operands of the same extent. */
export const binary = (x: Register, y: Register, operation: Binary): Instruction =>
  pointwise(x, y, operation.loops ?? Loops.ofTwo(operation))

/** Chooses one of two values by a condition; the other gets no gradient. All operands have the same extent. */
export const where = (condition: Register, yes: Register, no: Register): Instruction => {
  const output = make(yes.extent, yes.isTracked || no.isTracked)
  return {
    output,
    forward: (layout) => {
      const [chosen, left, right, to] = [condition.values, yes.values, no.values, output.values]
      const count = countOf(output, layout)
      for (let i = 0; i < count; i++) to[i] = (chosen[i] === 0 ? right[i] : left[i]) ?? 0
    },
    back: !output.isTracked ? nothing : (layout) => {
      const [chosen, given, count] = [condition.values, output.slopes, countOf(output, layout)]
      for (let i = 0; i < count; i++) {
        const operand = chosen[i] === 0 ? no : yes
        if (operand.isTracked) operand.slopes[i] = (operand.slopes[i] ?? 0) + (given[i] ?? 0)
      }
    }
  }
}

/** Sums over the tokens of each datum. */
export const sum = (x: Register): Instruction => {
  const output = make("datum", x.isTracked)
  return {
    output,
    forward: ({ data, datumOf, tokens }) => {
      const [from, to] = [x.values, output.values]
      to.fill(0, 0, data)
      for (let i = 0; i < tokens; i++) {
        const datum = datumOf[i] ?? 0
        to[datum] = (to[datum] ?? 0) + (from[i] ?? 0)
      }
    },
    back: !output.isTracked ? nothing : ({ datumOf, tokens }) => {
      const [given, own] = [output.slopes, x.slopes]
      for (let i = 0; i < tokens; i++) own[i] = (own[i] ?? 0) + (given[datumOf[i] ?? 0] ?? 0)
    }
  }
}

/** Repeats the value of each datum at all of its tokens. */
export const spread = (x: Register): Instruction => {
  const output = make("token", x.isTracked)
  return {
    output,
    forward: ({ datumOf, tokens }) => {
      const [from, to] = [x.values, output.values]
      for (let i = 0; i < tokens; i++) to[i] = from[datumOf[i] ?? 0] ?? 0
    },
    back: !output.isTracked ? nothing : ({ datumOf, tokens }) => {
      const [given, own] = [output.slopes, x.slopes]
      for (let i = 0; i < tokens; i++) {
        const datum = datumOf[i] ?? 0
        own[datum] = (own[datum] ?? 0) + (given[i] ?? 0)
      }
    }
  }
}

/** Copies the values without a gradient. */
export const detach = (x: Register): Instruction => {
  const output = make(x.extent)
  return {
    output,
    forward: (layout) => output.values.set(x.values.subarray(0, countOf(x, layout))),
    back: nothing
  }
}
