/** NumPy's legacy generator, for data in upstream's order. */
import * as MersenneTwister from "./MersenneTwister.ts"

/** `RandomState(seed).randint(0, bound)`, again and again: draws are masked, and those out of range rejected. */
export const integersBelow = (bound: number, seed: number): () => number => {
  const next = MersenneTwister.fromSeed(seed)
  const mask = 2 ** Math.ceil(Math.log2(bound)) - 1
  return () => {
    let value = next() & mask
    while (value >= bound) value = next() & mask
    return value
  }
}
