/** The two-way bootstrap of a difference: seeds and problems are resampled independently. */
import type { CrossedEffects } from "@effect-rl/core/evaluation"

/** Number of resamples per pair. */
export const resamples = 400

/** Draws as many seeds as there are, with replacement, and returns the mean of their sums of scores over the drawn problems. */
const drawnSum = (table: CrossedEffects.Table, counts: Float64Array, uniform: () => number) => {
  const sums = table.map((row) => row.reduce((sum, score, problem) => sum + score * (counts[problem] ?? 0), 0))
  return table.reduce((sum) => sum + (sums[Math.floor(uniform() * sums.length)] ?? NaN), 0) / table.length
}

/**
 * The percentile interval of the difference between two sides.
 *
 * @see Owen 2007, "The pigeonhole bootstrap" (arXiv:0711.2346)
 */
export const interval = (left: CrossedEffects.Table, right: CrossedEffects.Table, uniform: () => number) => {
  const problems = left[0]?.length ?? 0
  const differences = Float64Array.from({ length: resamples }, () => {
    const counts = new Float64Array(problems)
    for (let drawn = 0; drawn < problems; drawn++) {
      const at = Math.floor(uniform() * problems)
      counts[at] = (counts[at] ?? 0) + 1
    }
    return (drawnSum(right, counts, uniform) - drawnSum(left, counts, uniform)) / problems
  }).toSorted()
  const at = (share: number) => differences[Math.round(share * (resamples - 1))] ?? NaN
  return { low: at(0.025), high: at(0.975) }
}
