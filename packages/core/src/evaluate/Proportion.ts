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
  return { value, low: Math.max(0, (centre - spread) / scale), high: Math.min(1, (centre + spread) / scale) }
}
