/** Random draws from a seed, the same on every machine. */
export interface Random {
  /** In [0, 1). */
  readonly uniform: () => number
  /** In 0..count−1. */
  readonly below: (count: number) => number
  readonly pick: <A>(choices: readonly [A, ...Array<A>]) => A
  readonly normal: () => number
}

/** Creates a mulberry32 generator from a seed. */
export const make = (seed: number): Random => {
  let state = seed >>> 0
  const uniform = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
  const below = (count: number) => Math.floor(uniform() * count)
  return {
    uniform,
    below,
    pick: (choices) => choices[below(choices.length)] ?? choices[0],
    normal: () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform())
  }
}
