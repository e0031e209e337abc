/** Which members are compared with each other, and their scores. */

/**
 * Whether each pair is compared in both orders or only in one. Both orders cancel a judge's preference for the answer that it reads first.
 */
export type Pattern = "all_pairs_both_ways" | "all_pairs_one_way"

/** A comparison with member `a` as completion A and member `b` as completion B. */
export interface Matchup {
  readonly a: number
  readonly b: number
}

/**
 * All pairs within each subgroup of `groupSize` consecutive members. A member that is alone in the last subgroup has no pair.
 *
 * @example
 * const pairs = Tournament.matchups(8, "all_pairs_both_ways", 4)
 * const advantages = Tournament.winsMinusLosses(8, pairs, pairs.map(() => 1))
 *
 * @see tinker-cookbook `get_pairs_chunked`
 */
export const matchups = (members: number, pattern: Pattern, groupSize: number): ReadonlyArray<Matchup> => {
  const all = Array.from({ length: members }, (_, member) => member)
  const meet = (a: number, b: number) => pattern === "all_pairs_one_way" ? a < b : a !== b
  return all.flatMap((a) =>
    all
      .filter((b) => Math.floor(a / groupSize) === Math.floor(b / groupSize) && meet(a, b))
      .map((b) => ({ a, b }))
  )
}

/**
 * Wins minus losses of each member, divided by the number of its matchups; 0 for a member without matchups. `scores[k]` is the score of
 * matchup `k`, from −1 (`a` won) to 1 (`b` won).
 */
export const winsMinusLosses = (
  members: number,
  played: ReadonlyArray<Matchup>,
  scores: ReadonlyArray<number>
): ReadonlyArray<number> => {
  const sums = new Float64Array(members)
  const counts = new Float64Array(members)
  const add = (member: number, score: number) => {
    sums[member] = (sums[member] ?? 0) + score
    counts[member] = (counts[member] ?? 0) + 1
  }
  for (const [index, { a, b }] of played.entries()) {
    add(b, scores[index] ?? 0)
    add(a, -(scores[index] ?? 0))
  }
  return Array.from(sums, (sum, member) => sum / Math.max(1, counts[member] ?? 0))
}
