/**
 * Elementwise operations over many elements, forward and backward. The most frequent operations have their own loops, which take a tenth of
 * the time: a loop that calls many different functions has to box every number on the heap.
 */
import type { Binary, Slope, Unary } from "./Pointwise.ts"

type Numbers = Float64Array

/** Computes the first `count` elements. For a unary operation, `y` is `x` again. */
type Forward = (x: Numbers, y: Numbers, to: Numbers, count: number) => void

/** Adds `given` times the derivative to the operand's slopes. If `given` is 0, nothing is added, even if the derivative is not finite. */
type Back = (given: Numbers, x: Numbers, y: Numbers, to: Numbers, own: Numbers, count: number) => void

/** The forward loop of an operation, and one backward loop per operand. Without backward loops, no gradient passes through. */
export interface Loops {
  readonly forward: Forward
  readonly back?: ReadonlyArray<Back>
}

const bySlope = (slope: number): Back => (given, _x, _y, _to, own, count) => {
  for (let i = 0; i < count; i++) own[i] = (own[i] ?? 0) + (given[i] ?? 0) * slope
}

const bySlopeOf = (slope: Slope): Back => (given, x, y, to, own, count) => {
  for (let i = 0; i < count; i++) {
    const value = given[i] ?? 0
    if (value !== 0) own[i] = (own[i] ?? 0) + value * slope(x[i] ?? 0, y[i] ?? 0, to[i] ?? 0)
  }
}

/** The generic loops of a function of one element. */
export const ofOne = ({ f, slope }: Omit<Unary, "loops">): Loops => ({
  forward: (x, _, to, count) => {
    for (let i = 0; i < count; i++) to[i] = f(x[i] ?? 0)
  },
  ...(slope === undefined ? {} : { back: [bySlopeOf((x, _, output) => slope(x, output))] })
})

/** The generic loops of a function of two elements. */
export const ofTwo = ({ f, slopes }: Omit<Binary, "loops">): Loops => ({
  forward: (x, y, to, count) => {
    for (let i = 0; i < count; i++) to[i] = f(x[i] ?? 0, y[i] ?? 0)
  },
  ...(slopes === undefined ? {} : { back: [bySlopeOf(slopes[0]), bySlopeOf(slopes[1])] })
})

const byFactor = (given: Numbers, factor: Numbers, own: Numbers, count: number) => {
  for (let i = 0; i < count; i++) {
    const value = given[i] ?? 0
    if (value !== 0) own[i] = (own[i] ?? 0) + value * (factor[i] ?? 0)
  }
}

const byX: Back = (given, x, _y, _to, own, count) => byFactor(given, x, own, count)

const byY: Back = (given, _x, y, _to, own, count) => byFactor(given, y, own, count)

const byOutput: Back = (given, _x, _y, to, own, count) => byFactor(given, to, own, count)

/** The derivative with respect to an operand, by the result of comparing the two operands. */
interface Outcomes {
  readonly less: number
  readonly equal: number
  readonly greater: number
  /** The derivative if an operand is NaN. */
  readonly unordered: number
}

const byOrder = ({ equal, greater, less, unordered }: Outcomes): Back => (given, x, y, _to, own, count) => {
  for (let i = 0; i < count; i++) {
    const [left, right] = [x[i] ?? 0, y[i] ?? 0]
    const slope = left < right ? less : left > right ? greater : left === right ? equal : unordered
    own[i] = (own[i] ?? 0) + (given[i] ?? 0) * slope
  }
}

export const add: Loops = {
  forward: (x, y, to, count) => {
    for (let i = 0; i < count; i++) to[i] = (x[i] ?? 0) + (y[i] ?? 0)
  },
  back: [bySlope(1), bySlope(1)]
}

export const subtract: Loops = {
  forward: (x, y, to, count) => {
    for (let i = 0; i < count; i++) to[i] = (x[i] ?? 0) - (y[i] ?? 0)
  },
  back: [bySlope(1), bySlope(-1)]
}

export const multiply: Loops = {
  forward: (x, y, to, count) => {
    for (let i = 0; i < count; i++) to[i] = (x[i] ?? 0) * (y[i] ?? 0)
  },
  back: [byY, byX]
}

export const negate: Loops = {
  forward: (x, _, to, count) => {
    for (let i = 0; i < count; i++) to[i] = -(x[i] ?? 0)
  },
  back: [bySlope(-1)]
}

export const exp: Loops = {
  forward: (x, _, to, count) => {
    for (let i = 0; i < count; i++) to[i] = Math.exp(x[i] ?? 0)
  },
  back: [byOutput]
}

export const minimum: Loops = {
  forward: (x, y, to, count) => {
    for (let i = 0; i < count; i++) to[i] = Math.min(x[i] ?? 0, y[i] ?? 0)
  },
  back: [
    byOrder({ less: 1, equal: 0.5, greater: 0, unordered: 0 }),
    byOrder({ less: 0, equal: 0.5, greater: 1, unordered: 1 })
  ]
}

export const atLeast: Loops = {
  forward: (x, y, to, count) => {
    for (let i = 0; i < count; i++) {
      const [left, right] = [x[i] ?? 0, y[i] ?? 0]
      to[i] = left < right ? right : left
    }
  },
  back: [byOrder({ less: 0, equal: 0, greater: 1, unordered: 0 }), bySlope(0)]
}

export const atMost: Loops = {
  forward: (x, y, to, count) => {
    for (let i = 0; i < count; i++) {
      const [left, right] = [x[i] ?? 0, y[i] ?? 0]
      to[i] = left > right ? right : left
    }
  },
  back: [byOrder({ less: 1, equal: 0, greater: 0, unordered: 0 }), bySlope(0)]
}

const comparison = ({ equal, greater, less, unordered }: Outcomes): Loops => ({
  forward: (x, y, to, count) => {
    for (let i = 0; i < count; i++) {
      const [left, right] = [x[i] ?? 0, y[i] ?? 0]
      to[i] = left < right ? less : left > right ? greater : left === right ? equal : unordered
    }
  }
})

export const greater = comparison({ less: 0, equal: 0, greater: 1, unordered: 0 })

export const greaterOrEqual = comparison({ less: 0, equal: 1, greater: 1, unordered: 0 })

export const less = comparison({ less: 1, equal: 0, greater: 0, unordered: 0 })

export const lessOrEqual = comparison({ less: 1, equal: 1, greater: 0, unordered: 0 })

export const notEqual = comparison({ less: 1, equal: 0, greater: 1, unordered: 1 })

export const and: Loops = {
  forward: (x, y, to, count) => {
    for (let i = 0; i < count; i++) to[i] = x[i] !== 0 && y[i] !== 0 ? 1 : 0
  }
}
