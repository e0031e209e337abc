/**
 * The difference between two methods, each trained with several seeds and scored on the same problems.
 *
 * The score of seed s of one side on problem p is modelled as μ + a(s) + b(p) + e(s, p). Every seed is scored on every problem, so the
 * effects of seeds and problems are crossed. With S seeds on the left, T on the right and n problems, the difference of the means has the
 * variance
 *
 *   σ²(b′ − b)/n + [σ²(a)/S + σ²(e)/(S·n)] + [σ²(a′)/T + σ²(e′)/(T·n)]
 *
 * - The variance of the left seed means, divided by S, estimates the first bracket (including the problem noise) with S − 1 degrees of
 *   freedom; the right seed means estimate the second bracket with T − 1.
 * - The variance over problems of the difference between the sides, divided by n, estimates σ²(b′ − b)/n plus the same noise. That noise,
 *   MS(e)/(S·n) and MS(e′)/(T·n) from the two-way tables of the sides, is subtracted, so it counts once. The rest is at least 0 and has
 *   n − 1 degrees of freedom.
 *
 * The interval is Student's. Variances V with ν degrees of freedom each are added with Welch's (ΣV)²/Σ(V²/(ν + 2)) − 2 degrees of freedom
 * for the seeds of both sides (at least the smaller ν and at most Σν), and with Satterthwaite's (ΣV)²/Σ(V²/ν) for seeds and problems.
 *
 * Seeds are not paired across sides: two methods that start from the same seed number share little, and pairing would halve the degrees of
 * freedom. `benchmark/compare` compares the coverage and width with those of other estimators.
 *
 * @see Satterthwaite 1946, "An approximate distribution of estimates of variance components"
 * @see Welch 1947, "The generalization of Student's problem when several different population variances are involved"
 * @see Owen 2007, "The pigeonhole bootstrap" (arXiv:0711.2346), on crossed random effects
 */
import * as Statistics from "../records/Statistics.ts"
import * as StudentT from "./StudentT.ts"

/** Scores by seed and problem, `[seed][problem]`. All seeds of both sides must have the same problems in the same order. */
export type Table = ReadonlyArray<ReadonlyArray<number>>

/** The difference right − left with its 95 % interval. */
export interface Difference {
  readonly difference: number
  /** Lower end of the interval. With fewer than two problems, the interval is from −∞ to ∞. */
  readonly low: number
  readonly high: number
  /** Degrees of freedom of Student's t distribution. */
  readonly freedom: number
  /**
   * Whether the interval also covers other seeds of both methods, which requires several seeds on both sides. If false, the interval
   * applies only to these runs, on other problems of the same kind.
   */
  readonly coversSeeds: boolean
}

/** A variance component of the difference, with its degrees of freedom. */
interface Component {
  readonly variance: number
  readonly freedom: number
}

interface Side {
  /** The mean of each problem over seeds. */
  readonly problems: ReadonlyArray<number>
  /** The variance of the side's mean over seeds; 0 with one seed. */
  readonly seeds: Component
  /** The part of the seed variance that comes from the interaction of seeds and problems; 0 with one seed. */
  readonly noise: number
}

const columnMeans = (table: Table): ReadonlyArray<number> =>
  (table[0] ?? []).map((_, problem) => Statistics.mean(table.map((row) => row[problem] ?? NaN)))

const sideOf = (table: Table): Side => {
  const problems = columnMeans(table)
  const freedom = table.length - 1
  if (freedom < 1) return { problems, seeds: { variance: 0, freedom }, noise: 0 }
  const means = table.map(Statistics.mean)
  const interaction = table.flatMap((row, seed) =>
    row.map((score, problem) => score - (problems[problem] ?? NaN) - (means[seed] ?? NaN))
  )
  const meanSquare = Statistics.squaredDeviations(interaction) / (freedom * (problems.length - 1))
  return {
    problems,
    seeds: { variance: Statistics.variance(means) / table.length, freedom },
    noise: meanSquare / (table.length * problems.length)
  }
}

const spread = (components: ReadonlyArray<Component>) => ({
  variance: Statistics.sum(components.map(({ variance }) => variance)),
  weighted: (besides: number) =>
    Statistics.sum(components.map(({ freedom, variance }) => variance ** 2 / (freedom + besides)))
})

const welch = (left: Component, right: Component): Component => {
  const { variance, weighted } = spread([left, right])
  const freedom = variance ** 2 / weighted(2) - 2
  const least = Math.min(left.freedom, right.freedom)
  return { variance, freedom: Math.max(least, Math.min(left.freedom + right.freedom, freedom)) }
}

const satterthwaite = (components: ReadonlyArray<Component>): Component => {
  const { variance, weighted } = spread(components)
  return { variance, freedom: variance ** 2 / weighted(0) }
}

/**
 * The total variance from seeds and problems. If the seed means do not vary on either side, they say nothing about the spread of seeds,
 * and only the problems count.
 */
const total = (left: Side, right: Side, problems: Component): Component => {
  if (left.seeds.variance + right.seeds.variance === 0) return problems
  const rest = { ...problems, variance: Math.max(0, problems.variance - left.noise - right.noise) }
  return satterthwaite([rest, welch(left.seeds, right.seeds)])
}

/**
 * The difference between the means of two sides, with its 95 % interval.
 *
 * @example
 * CrossedEffects.difference([[1, 0, 1], [1, 0, 0]], [[1, 1, 1], [1, 0, 1]]) // { difference: 0.33, low: …, high: …, coversSeeds: true }
 */
export const difference = (left: Table, right: Table): Difference => {
  const [one, other] = [sideOf(left), sideOf(right)]
  const differences = other.problems.map((score, problem) => score - (one.problems[problem] ?? NaN))
  const count = differences.length
  const mean = Statistics.mean(differences)
  const coversSeeds = left.length > 1 && right.length > 1
  if (count < 2) return { difference: mean, low: -Infinity, high: Infinity, freedom: 0, coversSeeds }
  const problems = { variance: Statistics.variance(differences) / count, freedom: count - 1 }
  const { freedom, variance } = coversSeeds ? total(one, other, problems) : problems
  const half = StudentT.quantile(freedom) * Math.sqrt(variance)
  return { difference: mean, low: mean - half, high: mean + half, freedom, coversSeeds }
}
