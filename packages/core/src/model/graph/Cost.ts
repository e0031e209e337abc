/** The numbers that an evaluation reads and makes, within its operations too, counted before it does. */

/** An evaluation would read and make more numbers than it may. */
export class TooCostly extends Error {}

/** What is left of the evaluation that is under way; evaluations do not wait for anything, so that there is one at a time. */
let left = Infinity

/** Counts `numbers` that are about to be read or made. */
export const spend = (numbers: number): void => {
  left -= numbers
  if (!(left >= 0)) throw new TooCostly()
}

/** Evaluates with at most so many numbers; `cost` are those that it took. Throws `TooCostly`. */
export const within = <A>(most: number, evaluate: () => A): { readonly value: A; readonly cost: number } => {
  left = most
  try {
    return { value: evaluate(), cost: most - left }
  } finally {
    left = Infinity
  }
}

/** Sorting `count` numbers. */
export const sorting = (count: number): number => 4 * count * Math.ceil(Math.log2(count + 2))
