/** Python's `random.Random`, for data in upstream's order. */
import * as MersenneTwister from "./MersenneTwister.ts"

export interface PythonRandom {
  /** `random()`: a number in [0, 1) of 53 bits. */
  readonly random: () => number
  /** `randrange(bound)`. */
  readonly below: (bound: number) => number
  /** `shuffle(order)`, in place. */
  readonly shuffle: (order: Uint32Array) => void
  /** `sample(range(length), length)`. */
  readonly sample: (length: number) => Uint32Array
  /** The index that `choices(range(len(weights)), weights)` gives. */
  readonly choice: (weights: ReadonlyArray<number>) => number
}

const wordsOf = (seed: number) => {
  const [low, high] = [seed % 2 ** 32, Math.floor(seed / 2 ** 32)]
  return high === 0 ? [low] : [low, high]
}

const swap = (order: Uint32Array, a: number, b: number) => {
  const held = order[a] ?? 0
  order[a] = order[b] ?? 0
  order[b] = held
}

/** `random.Random(seed)`; the sign of a seed does not matter there either. */
export const make = (seed: number): PythonRandom => {
  const next = MersenneTwister.fromWords(wordsOf(Math.abs(seed)))
  const random = () => {
    const high = next() >>> 5
    return (high * 2 ** 26 + (next() >>> 6)) / 2 ** 53
  }
  const below = (bound: number) => {
    const surplus = Math.clz32(bound)
    let value = next() >>> surplus
    while (value >= bound) value = next() >>> surplus
    return value
  }
  return {
    random,
    below,
    shuffle: (order) => {
      for (let last = order.length - 1; last > 0; last--) swap(order, last, below(last + 1))
    },
    sample: (length) => {
      const pool = Uint32Array.from({ length }, (_, index) => index)
      return Uint32Array.from(pool, (_, index) => {
        const left = length - index
        const at = below(left)
        const chosen = pool[at] ?? 0
        pool[at] = pool[left - 1] ?? 0
        return chosen
      })
    },
    choice: (weights) => {
      let sum = 0
      const cumulative = weights.map((weight) => sum += weight)
      const point = random() * sum
      const found = cumulative.findIndex((end) => point < end)
      return found < 0 ? weights.length - 1 : found
    }
  }
}
