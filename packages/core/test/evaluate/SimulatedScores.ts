/** Scores of simulated methods with a known difference. */
import { Seed } from "@effect-rl/core/environments"
import type { CrossedEffects } from "@effect-rl/core/evaluation"

export interface Options {
  readonly seeds: readonly [left: number, right: number]
  /** Standard deviation of the seed means, for each side. */
  readonly deviations: readonly [left: number, right: number]
  readonly rewards: "binary" | "graded"
  readonly problems: number
  /** The right side's advantage on every problem. */
  readonly effect: number
  /** Standard deviation of each method's own problem effects. Default: 0. */
  readonly suits?: number
}

export interface Draws {
  readonly uniform: () => number
  /** Standard normal. */
  readonly normal: () => number
}

export const draws = (seed: number): Draws => {
  const uniform = Seed.uniform(seed)
  return {
    uniform,
    normal: () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform())
  }
}

const gradingDeviation = 0.15

/**
 * Two methods on problems whose probabilities of success lie between 0.2 and 0.8. A reward is 1 with that probability, or varies around it
 * with a standard deviation of 0.15.
 */
export const pair = (
  { deviations, effect, problems, rewards, seeds, suits = 0 }: Options,
  { normal, uniform }: Draws
): readonly [CrossedEffects.Table, CrossedEffects.Table] => {
  const probabilities = Array.from({ length: problems }, () => 0.2 + 0.6 * uniform())
  const side = (count: number, deviation: number, mean: number) => {
    const expected = probabilities.map((probability) => probability + mean + (suits === 0 ? 0 : suits * normal()))
    return Array.from({ length: count }, () => {
      const shift = deviation * normal()
      return expected.map((value) =>
        rewards === "graded" ? value + shift + gradingDeviation * normal() : uniform() < value + shift ? 1 : 0
      )
    })
  }
  return [side(seeds[0], deviations[0], 0), side(seeds[1], deviations[1], effect)]
}
