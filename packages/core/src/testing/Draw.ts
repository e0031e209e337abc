/** Random choices from a seed. */
import * as Seed from "../records/Seed.ts"

/** A seeded source of choices. */
export interface Draw {
  /** A number in [0, 1). */
  readonly uniform: () => number
  /** An integer in the range, both ends included. */
  readonly integer: (least: number, most: number) => number
  readonly chance: (probability: number) => boolean
  readonly oneOf: <A>(choices: readonly [A, ...ReadonlyArray<A>]) => A
}

/** Makes a source; equal arguments give equal choices. `parts` separate sources with different purposes. */
export const make = (seed: number, ...parts: ReadonlyArray<string | number>): Draw => {
  const uniform = Seed.uniform(Seed.derive(seed, ...parts))
  return {
    uniform,
    integer: (least, most) => least + Math.floor(uniform() * (most - least + 1)),
    chance: (probability) => uniform() < probability,
    oneOf: (choices) => choices[Math.floor(uniform() * choices.length)] ?? choices[0]
  }
}
