/** The cost of an evaluation: the count of numbers that its operations read and create, checked before each operation. */

/** The next operation would exceed the evaluation's limit. */
export class TooCostly extends Error {}

/** The remaining limit of the current evaluation. Evaluations are synchronous, so only one runs at a time. */
let left = Infinity

/** Charges `numbers` that the next operation reads and creates. Throws `TooCostly` if they exceed the limit. */
export const spend = (numbers: number): void => {
  left -= numbers
  if (!(left >= 0)) throw new TooCostly()
}

/** Evaluates with a limit of `most` numbers, and returns the value with its cost. Throws `TooCostly`. */
export const within = <A>(most: number, evaluate: () => A): { readonly value: A; readonly cost: number } => {
  left = most
  try {
    return { value: evaluate(), cost: most - left }
  } finally {
    left = Infinity
  }
}

/** The cost of sorting `count` numbers. */
export const sorting = (count: number): number => 4 * count * Math.ceil(Math.log2(count + 2))
