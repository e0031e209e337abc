/** MT19937, the generator of Python's `random` and of NumPy's legacy random numbers. It reproduces the cookbook's data order. */

const size = 624
const shift = 397

/** Draws an unsigned 32-bit integer at each call. */
export type MersenneTwister = () => number

const fromState = (state: Uint32Array): MersenneTwister => {
  let at = size
  const twist = () => {
    for (let i = 0; i < size; i++) {
      const joined = ((state[i] ?? 0) & 0x80000000) | ((state[(i + 1) % size] ?? 0) & 0x7fffffff)
      state[i] = (state[(i + shift) % size] ?? 0) ^ (joined >>> 1) ^ ((joined & 1) === 0 ? 0 : 0x9908b0df)
    }
    at = 0
  }
  return () => {
    if (at === size) twist()
    let value = state[at++] ?? 0
    value ^= value >>> 11
    value ^= (value << 7) & 0x9d2c5680
    value ^= (value << 15) & 0xefc60000
    return (value ^ (value >>> 18)) >>> 0
  }
}

const knuth = (seed: number): Uint32Array => {
  const state = new Uint32Array(size)
  state[0] = seed
  for (let i = 1; i < size; i++) {
    const last = state[i - 1] ?? 0
    state[i] = Math.imul(last ^ (last >>> 30), 1812433253) + i
  }
  return state
}

/** Seeds with Knuth's method, as `numpy.random.RandomState(seed)` does. */
export const fromSeed = (seed: number): MersenneTwister => fromState(knuth(seed))

/** Seeds with 32-bit words, least significant first, as `random.Random` does with an integer. */
export const fromWords = (words: ReadonlyArray<number>): MersenneTwister => {
  const state = knuth(19650218)
  let i = 1
  const step = (factor: number, addend: (at: number) => number) => {
    const last = state[i - 1] ?? 0
    state[i] = ((state[i] ?? 0) ^ Math.imul(last ^ (last >>> 30), factor)) + addend(i)
    i++
    if (i >= size) {
      state[0] = state[size - 1] ?? 0
      i = 1
    }
  }
  for (let k = 0; k < Math.max(size, words.length); k++) {
    const j = k % words.length
    step(1664525, () => (words[j] ?? 0) + j)
  }
  for (let k = 1; k < size; k++) step(1566083941, (at) => -at)
  state[0] = 0x80000000
  return fromState(state)
}
