/**
 * The candidates of a run that optimises instructions, and their scores on the validation problems. Parents are drawn from the candidates
 * that do best on some problem, as in GEPA (arXiv 2507.19457, algorithm 2), so an instruction that alone solves a problem is built upon even
 * if its mean is low.
 *
 * @example
 * const pool = [
 *   { instruction: "Answer.", parent: null, scores: [1, 0, 0] },
 *   { instruction: "Answer with a number.", parent: 0, scores: [0, 1, 1] }
 * ]
 * Pool.leads(pool) // [1, 2]
 * Pool.best(pool)?.instruction // "Answer with a number."
 */
import * as Schema from "effect/Schema"
import * as Statistics from "../records/Statistics.ts"

/** An instruction that was evaluated on all validation problems. */
export const Candidate = Schema.Struct({
  instruction: Schema.String,
  /** The index of the candidate from which the instruction was written; null for the initial instruction. */
  parent: Schema.NullOr(Schema.Int),
  /** The mean reward on each validation problem `[V]`. */
  scores: Schema.Array(Schema.Finite)
})
export interface Candidate extends Schema.Schema.Type<typeof Candidate> {}

/** The candidates in the order in which they were accepted; the first has the initial instruction. */
export const Pool = Schema.Array(Candidate)
export type Pool = ReadonlyArray<Candidate>

/** The mean score of a candidate over the validation problems. */
export const score = ({ scores }: Candidate): number => Statistics.mean(scores)

/** The candidate with the highest mean score, the earliest of equals; undefined if the pool is empty. */
export const best = (pool: Pool): Candidate | undefined =>
  pool.reduce<Candidate | undefined>(
    (best, candidate) => best === undefined || score(candidate) > score(best) ? candidate : best,
    undefined
  )

/** Whether `left` is at least as good as `right` on every problem, and better on at least one. */
const dominates = (left: Candidate, right: Candidate) =>
  left.scores.every((score, problem) => score >= (right.scores[problem] ?? -Infinity))
  && left.scores.some((score, problem) => score > (right.scores[problem] ?? -Infinity))

/**
 * For each candidate, the number of problems on which no other candidate scores higher. It is 0 for a candidate that another one dominates:
 * one that is at least as good on every problem, and better on at least one.
 */
export const leads = (pool: Pool): ReadonlyArray<number> => {
  const highest = (pool[0]?.scores ?? []).map((_, problem) =>
    pool.reduce((most, { scores }) => Math.max(most, scores[problem] ?? -Infinity), -Infinity)
  )
  return pool.map((candidate) =>
    pool.some((other) => dominates(other, candidate))
      ? 0
      : candidate.scores.filter((score, problem) => score === highest[problem]).length
  )
}

/**
 * The index of a candidate, drawn with a probability in proportion to the problems that it leads. `uniform` is a number in [0, 1). The pool
 * must not be empty.
 */
export const draw = (pool: Pool, uniform: number): number => {
  const counts = leads(pool)
  let left = uniform * counts.reduce((sum, count) => sum + count, 0)
  return Math.max(0, counts.findIndex((count) => (left -= count) < 0))
}
