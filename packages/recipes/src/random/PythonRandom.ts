/** Python's `random.Random`, to reproduce the cookbook's data order. */
import * as MersenneTwister from "./MersenneTwister.ts"

const wordsOf = (seed: number) => {
  const [low, high] = [seed % 2 ** 32, Math.floor(seed / 2 ** 32)]
  return high === 0 ? [low] : [low, high]
}

/** Calls of `Random(seed).randrange(bound)`, one after another. As in Python, the sign of the seed is ignored. */
export const below = (seed: number): (bound: number) => number => {
  const next = MersenneTwister.fromWords(wordsOf(Math.abs(seed)))
  return (bound) => {
    const surplus = Math.clz32(bound)
    let value = next() >>> surplus
    while (value >= bound) value = next() >>> surplus
    return value
  }
}

/** `Random(seed).sample(range(length), length)`. */
export const sample = (seed: number, length: number): Uint32Array => {
  const next = below(seed)
  const pool = Uint32Array.from({ length }, (_, index) => index)
  return Uint32Array.from(pool, (_, index) => {
    const left = length - index
    const at = next(left)
    const chosen = pool[at] ?? 0
    pool[at] = pool[left - 1] ?? 0
    return chosen
  })
}
