/** Numbers that describe samples; undefined where the samples do not determine them. */

export const sum = (values: Iterable<number>) => {
  let total = 0
  for (const value of values) total += value
  return total
}

export const ratio = (numerator: number, denominator: number) => denominator === 0 ? undefined : numerator / denominator

/** NaN of nothing. */
export const mean = (values: ReadonlyArray<number>) => sum(values) / values.length

/** Linear interpolation between the two closest ranks. */
export const quantile = (values: ReadonlyArray<number>, q: number): number | undefined => {
  const sorted = values.toSorted((left, right) => left - right)
  const rank = q * (sorted.length - 1)
  const below = sorted[Math.floor(rank)]
  const above = sorted[Math.ceil(rank)]
  return below === undefined || above === undefined ? undefined : below + (above - below) * (rank - Math.floor(rank))
}

/**
 * Standard error of the mean over all members, with groups as the independent unit:
 * √(n/(n−1)·Σ_g (Σ_i r_gi − n_g·r̄)²) / N. With groups of one size it is that of the mean of group means.
 */
export const clusteredStandardError = (groups: ReadonlyArray<ReadonlyArray<number>>): number | undefined => {
  const count = groups.length
  const members = sum(groups.map((group) => group.length))
  const average = ratio(sum(groups.map(sum)), members)
  if (count < 2 || average === undefined) return undefined
  const squares = sum(groups.map((group) => (sum(group) - group.length * average) ** 2))
  return Math.sqrt((count / (count - 1)) * squares) / members
}
