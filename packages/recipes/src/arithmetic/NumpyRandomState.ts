/** NumPy's legacy generator, for data in upstream's order. */

const size = 624
const shift = 397

/** MT19937 with Knuth's seeding, as `numpy.random.RandomState(seed)`: 32 bits per draw. */
const mersenneTwister = (seed: number): () => number => {
  const state = new Uint32Array(size)
  state[0] = seed
  for (let i = 1; i < size; i++) {
    const last = state[i - 1] ?? 0
    state[i] = Math.imul(last ^ (last >>> 30), 1812433253) + i
  }
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

/** `RandomState(seed).randint(0, bound)`, again and again: draws are masked, and those out of range rejected. */
export const integersBelow = (bound: number, seed: number): () => number => {
  const next = mersenneTwister(seed)
  const mask = 2 ** Math.ceil(Math.log2(bound)) - 1
  return () => {
    let value = next() & mask
    while (value >= bound) value = next() & mask
    return value
  }
}
