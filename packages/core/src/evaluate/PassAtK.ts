/** pass@k: the probability that at least one of k attempts at a problem succeeds. */
import * as Proportion from "./Proportion.ts"

/**
 * The unbiased estimate from n attempts of which c succeeded: 1 − C(n − c, k) / C(n, k). Undefined if there are fewer than k attempts.
 *
 * @see Chen et al. 2021, "Evaluating Large Language Models Trained on Code" (arXiv:2107.03374)
 */
export const of = (successes: number, attempts: number, k: number): number | undefined => {
  if (attempts < k) return undefined
  let misses = 1
  for (let at = attempts - successes + 1; at <= attempts; at++) misses *= Math.max(0, 1 - k / at)
  return 1 - misses
}

/**
 * The mean of pass@k over problems, with its 95 % interval. Problems with fewer than k attempts are left out; NaN with the interval [0, 1]
 * if no problem is left.
 *
 * @example
 * PassAtK.estimate([[true, false, false, false], [false, false, false, false]], 2).value // 0.25
 */
export const estimate = (attempts: ReadonlyArray<ReadonlyArray<boolean>>, k: number): Proportion.Proportion => {
  const shares = attempts.flatMap((verdicts) => of(verdicts.filter(Boolean).length, verdicts.length, k) ?? [])
  return shares.length === 0 ? { value: NaN, low: 0, high: 1 } : Proportion.ofShares(shares, attempts.flat().length)
}
