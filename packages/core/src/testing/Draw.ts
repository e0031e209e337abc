/** Choices drawn from a seed. */
import * as Seed from "../records/Seed.ts"

/** A source of seeded choices. */
export interface Draw {
  /** In [0, 1). */
  readonly uniform: () => number
  /** A whole number, both ends included. */
  readonly integer: (least: number, most: number) => number
  readonly chance: (probability: number) => boolean
  readonly oneOf: <A>(choices: readonly [A, ...ReadonlyArray<A>]) => A
}

/** Equal seeds draw equal choices; `parts` distinguish what the choices are for. */
export const make = (seed: number, ...parts: ReadonlyArray<string | number>): Draw => {
  const uniform = Seed.uniform(Seed.derive(seed, ...parts))
  return {
    uniform,
    integer: (least, most) => least + Math.floor(uniform() * (most - least + 1)),
    chance: (probability) => uniform() < probability,
    oneOf: (choices) => choices[Math.floor(uniform() * choices.length)] ?? choices[0]
  }
}
