/** Changes the advantages of trained tokens. Tokens that are not trained on keep advantage 0. */
import * as Statistics from "../records/Statistics.ts"
import type { TrainingDatum } from "./TrainingData.ts"

/** Replaces each trained token's advantage by a function of the advantage and the position; other tokens get 0. */
export const map = (datum: TrainingDatum, change: (advantage: number, position: number) => number): TrainingDatum => {
  const { advantages, mask } = datum.inputs
  return {
    ...datum,
    inputs: { ...datum.inputs, advantages: advantages.map((advantage, t) => mask[t] ? change(advantage, t) : 0) }
  }
}

/** A function that normalises advantages to mean 0 and variance 1 over the trained tokens (divisor n − 1, 10⁻⁸ added to the variance). */
export const whitening = (trained: ReadonlyArray<number>): (advantage: number) => number => {
  const mean = Statistics.mean(trained)
  const squares = Statistics.squaredDeviations(trained)
  const scale = 1 / Math.sqrt(squares / Math.max(1, trained.length - 1) + 1e-8)
  return (advantage) => (advantage - mean) * scale
}

/** The sum and the number of the values of trained tokens that are known (not NaN). */
export const total = (data: ReadonlyArray<TrainingDatum>, valuesOf: (datum: TrainingDatum) => Float32Array) => {
  let sum = 0
  let count = 0
  for (const datum of data) {
    const values = valuesOf(datum)
    datum.inputs.mask.forEach((trained, t) => {
      const value = values[t] ?? NaN
      if (trained === 0 || Number.isNaN(value)) return
      sum += value
      count++
    })
  }
  return { sum, count }
}

/** Discounted sums: each position's value plus all later values, Σⱼ γʲ·v[t+j]. */
const discounted = (values: Float64Array, discount: number): Float64Array => {
  const result = Float64Array.from(values)
  for (let t = result.length - 2; t >= 0; t--) result[t] = (result[t] ?? 0) + discount * (result[t + 1] ?? 0)
  return result
}

/**
 * Adds to each trained token's advantage the discounted sum of the values at this and all later positions. Unknown values (NaN) and values
 * at other positions count as 0; positions that are not trained on keep advantage 0.
 */
export const add = (datum: TrainingDatum, valuesT: Float64Array, discount: number): TrainingDatum => {
  const { mask } = datum.inputs
  const addedT = discounted(valuesT.map((value, t) => mask[t] ? value || 0 : 0), discount)
  return map(datum, (advantage, t) => advantage + (addedT[t] ?? 0))
}
