/** Advantages per token: changed where tokens are trained on, and 0 elsewhere. */
import type { TrainingDatum } from "./TrainingData.ts"

/** The datum with each trained token's advantage changed by a function of the advantage and the position. */
export const map = (datum: TrainingDatum, change: (advantage: number, position: number) => number): TrainingDatum => {
  const { advantages, mask } = datum.inputs
  return {
    ...datum,
    inputs: { ...datum.inputs, advantages: advantages.map((advantage, t) => mask[t] ? change(advantage, t) : 0) }
  }
}

/** The function that gives the trained tokens' advantages mean 0 and variance 1 (divisor n − 1, 10⁻⁸ added). */
export const whitening = (data: ReadonlyArray<TrainingDatum>): (advantage: number) => number => {
  const trained = data.flatMap(({ inputs: { advantages, mask } }) => Array.from(advantages.filter((_, t) => mask[t])))
  const mean = trained.reduce((sum, advantage) => sum + advantage, 0) / Math.max(1, trained.length)
  const squares = trained.reduce((sum, advantage) => sum + (advantage - mean) ** 2, 0)
  const scale = 1 / Math.sqrt(squares / Math.max(1, trained.length - 1) + 1e-8)
  return (advantage) => (advantage - mean) * scale
}
