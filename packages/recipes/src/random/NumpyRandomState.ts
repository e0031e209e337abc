/** NumPy's legacy generator, to reproduce the cookbook's data order. */
import * as MersenneTwister from "./MersenneTwister.ts"

/** A function that draws `RandomState(seed).randint(0, bound)` at each call. Draws are masked, and rejected if out of range. */
export const integersBelow = (bound: number, seed: number): () => number => {
  const next = MersenneTwister.fromSeed(seed)
  const mask = 2 ** Math.ceil(Math.log2(bound)) - 1
  return () => {
    let value = next() & mask
    while (value >= bound) value = next() & mask
    return value
  }
}
