/** PCG-64 (O'Neill, 2014), the generator of `numpy.random.default_rng(seed)`. It reproduces the cookbook's data order. */

const word = (value: number) => value >>> 0

/** Mixes a seed's words into a pool of four words. @see numpy `SeedSequence` */
const poolOf = (seed: number): Uint32Array => {
  let factor = 0x43b0d7e5
  const hash = (value: number) => {
    const mixed = word(value ^ factor)
    factor = word(Math.imul(factor, 0x931e8875))
    const product = word(Math.imul(mixed, factor))
    return word(product ^ (product >>> 16))
  }
  const mix = (x: number, y: number) => {
    const result = word(Math.imul(0xca01f9dd, x) - Math.imul(0x4973f715, y))
    return word(result ^ (result >>> 16))
  }
  const pool = Uint32Array.of(seed, seed / 2 ** 32, 0, 0).map(hash)
  for (let from = 0; from < 4; from++) {
    for (let to = 0; to < 4; to++) if (from !== to) pool[to] = mix(pool[to] ?? 0, hash(pool[from] ?? 0))
  }
  return pool
}

/** Eight state words from the pool. */
const stateOf = (pool: Uint32Array): Uint32Array => {
  let factor = 0x8b51f9dd
  return Uint32Array.from({ length: 8 }, (_, index) => {
    const mixed = word((pool[index % 4] ?? 0) ^ factor)
    factor = word(Math.imul(factor, 0x58f38ded))
    const product = word(Math.imul(mixed, factor))
    return product ^ (product >>> 16)
  })
}

const multiplier = 0x2360ed051fc65da44385df649fccf645n
const to128 = (value: bigint) => BigInt.asUintN(128, value)
const to64 = (value: bigint) => BigInt.asUintN(64, value)

/** A function that draws 32-bit words, from a seed below 2^53. */
export const words = (seed: number): () => number => {
  const initial = stateOf(poolOf(seed))
  const pair = (at: number) => BigInt(initial[at] ?? 0) | (BigInt(initial[at + 1] ?? 0) << 32n)
  const increment = to128((((pair(4) << 64n) | pair(6)) << 1n) | 1n)
  const step = (state: bigint) => to128(state * multiplier + increment)
  let state = step(to128(increment + ((pair(0) << 64n) | pair(2))))
  const next = () => {
    state = step(state)
    const folded = to64((state >> 64n) ^ state)
    const turn = state >> 122n
    return to64((folded >> turn) | (folded << (64n - turn)))
  }
  let high: number | undefined
  return () => {
    const kept = high
    if (kept !== undefined) {
      high = undefined
      return kept
    }
    const value = next()
    high = Number(value >> 32n)
    return Number(value & 0xffffffffn)
  }
}

/** A uniform integer from 0 to `most`. Draws are masked, and rejected if out of range. */
const upTo = (most: number, next: () => number) => {
  const mask = word(-1) >>> Math.clz32(most)
  for (;;) {
    const value = word(next() & mask)
    if (value <= most) return value
  }
}

/** The numbers below `length`, in the order of `numpy.random.default_rng(seed).permutation(length)`. */
export const permutation = (length: number, seed: number): Int32Array => {
  const next = words(seed)
  const order = Int32Array.from({ length }, (_, index) => index)
  for (let last = length - 1; last > 0; last--) {
    const other = upTo(last, next)
    const moved = order[last] ?? 0
    order[last] = order[other] ?? 0
    order[other] = moved
  }
  return order
}
