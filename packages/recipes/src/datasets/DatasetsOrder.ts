/**
 * The order that Hugging Face's `datasets` gives rows, for runs that have to train on and hold out the same rows as the cookbook's.
 * Elsewhere rows are shuffled from the run's seed.
 */
import * as Pcg64 from "../random/Pcg64.ts"

/**
 * The rows in the order of `Dataset.shuffle(seed)`; the cookbook's seed is 0 unless it says another.
 *
 * @example
 * const inTheCookbooksOrder = DatasetsOrder.shuffled(rows, 42)
 */
export const shuffled = <A>(rows: ReadonlyArray<A>, seed = 0): ReadonlyArray<A> =>
  Array.from(Pcg64.permutation(rows.length, seed)).flatMap((index) => rows.slice(index, index + 1))
