/**
 * The row order of Hugging Face's `datasets`, for runs that must train on and hold out the same rows as the cookbook's. Other runs shuffle
 * rows from the run's seed.
 */
import * as Pcg64 from "../random/Pcg64.ts"

/**
 * The rows in the order of `Dataset.shuffle(seed)`. The cookbook usually uses seed 0.
 *
 * @example
 * const inTheCookbooksOrder = DatasetsOrder.shuffled(rows, 42)
 */
export const shuffled = <A>(rows: ReadonlyArray<A>, seed = 0): ReadonlyArray<A> =>
  Array.from(Pcg64.permutation(rows.length, seed)).flatMap((index) => rows.slice(index, index + 1))
