/** A share of successes and how sure we are of it. */

export interface Proportion {
  readonly value: number
  readonly low: number
  readonly high: number
}

/** Wilson's 95 % interval for `successes` of `trials`, which stays inside [0, 1] and is honest near both ends. */
export const wilson = (successes: number, trials: number): Proportion => {
  if (trials === 0) return { value: NaN, low: 0, high: 1 }
  const z = 1.959963984540054
  const value = successes / trials
  const spread = z * Math.sqrt((value * (1 - value)) / trials + (z * z) / (4 * trials * trials))
  const scale = 1 + (z * z) / trials
  const centre = value + (z * z) / (2 * trials)
  const [low, high] = [(centre - spread) / scale, (centre + spread) / scale]
  return { value, low: Math.min(value, Math.max(0, low)), high: Math.max(value, Math.min(1, high)) }
}

/** Share over clusters of unequal luck, such as several attempts at each problem: the interval takes clusters as the unit. */
export const clustered = (shares: ReadonlyArray<number>): Proportion => {
  const value = shares.reduce((sum, share) => sum + share, 0) / shares.length
  if (shares.length < 2) return { value, low: 0, high: 1 }
  const squares = shares.reduce((sum, share) => sum + (share - value) ** 2, 0)
  const spread = 1.959963984540054 * Math.sqrt(squares / (shares.length - 1) / shares.length)
  return { value, low: Math.max(0, value - spread), high: Math.min(1, value + spread) }
}
