/** Cost of an evaluation: the numbers that its operations read and make, counted before each operation runs. */

/** The next operation would exceed the limit of its evaluation. */
export class TooCostly extends Error {}

/** The rest of the running evaluation's limit. Evaluations are synchronous, so that only one runs at a time. */
let left = Infinity

/** Counts `numbers` that the next operation reads and makes. Throws `TooCostly`. */
export const spend = (numbers: number): void => {
  left -= numbers
  if (!(left >= 0)) throw new TooCostly()
}

/** Evaluates at a cost of at most `most` numbers, and gives the cost beside the value. Throws `TooCostly`. */
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
