/** Which few members show what a group did. */

/**
 * Indices of at most `count` scores, evenly spread from the lowest to the highest: those at ranks trunc(i·(n−1)/(count−1)).
 *
 * @see tinker-cookbook `print_group`
 */
export const indices = (scores: ReadonlyArray<number>, count: number): ReadonlyArray<number> => {
  const ascending = scores.map((score, index) => ({ score, index })).toSorted((left, right) => left.score - right.score)
  const shown = Math.min(count, ascending.length)
  const rankOf = (place: number) => shown === 1 ? 0 : Math.trunc((place * (ascending.length - 1)) / (shown - 1))
  return Array.from({ length: shown }, (_, place) => ascending[rankOf(place)]?.index ?? 0)
}
