/** Alternative confidence intervals for a difference over crossed seeds and problems, computed from the same variances. */
import { type CrossedEffects, Statistics, StudentT } from "@effect-rl/core/evaluation"

const sideOf = (table: CrossedEffects.Table) => {
  const seeds = table.length
  const means = table.map(Statistics.mean)
  const problems = (table[0] ?? []).map((_, at) => Statistics.mean(table.map((row) => row[at] ?? NaN)))
  const interaction = table.flatMap((row, seed) =>
    row.map((score, at) => score - (problems[at] ?? NaN) - (means[seed] ?? NaN))
  )
  const noise = Statistics.squaredDeviations(interaction) / ((seeds - 1) * (problems.length - 1))
  return { seeds, problems, between: Statistics.variance(means) / seeds, noise: noise / (seeds * problems.length) }
}

const around = (difference: number, variance: number, freedom: number) => {
  const half = StudentT.quantile(freedom) * Math.sqrt(variance)
  return { low: difference - half, high: difference + half }
}

interface Component {
  readonly variance: number
  readonly freedom: number
}

const satterthwaite = (difference: number, components: ReadonlyArray<Component>) => {
  const variance = Statistics.sum(components.map((component) => component.variance))
  const weighted = Statistics.sum(components.map((component) => component.variance ** 2 / component.freedom))
  return around(difference, variance, variance === 0 ? Infinity : variance ** 2 / weighted)
}

/** Intervals by the name of their assumption. */
export const all = (left: CrossedEffects.Table, right: CrossedEffects.Table) => {
  const [one, other] = [sideOf(left), sideOf(right)]
  const each = other.problems.map((score, at) => score - (one.problems[at] ?? NaN))
  const difference = Statistics.mean(each)
  const problems = { variance: Statistics.variance(each) / each.length, freedom: each.length - 1 }
  const freedom = one.seeds + other.seeds - 2
  const rest = { ...problems, variance: Math.max(0, problems.variance - one.noise - other.noise) }
  const pooled = (one.between * one.seeds * (one.seeds - 1) + other.between * other.seeds * (other.seeds - 1)) / freedom
  const excess = [one, other].map(({ between, noise, seeds }) => ({
    variance: Math.max(0, between - noise),
    freedom: seeds - 1
  }))
  return {
    /** For balanced tables, this interval equals that of restricted maximum likelihood. */
    "components of at least 0": satterthwaite(difference, [problems, ...excess]),
    "equal deviations": satterthwaite(difference, [
      rest,
      { variance: pooled * (1 / one.seeds + 1 / other.seeds), freedom }
    ]),
    "noise counted twice": around(difference, problems.variance + one.between + other.between, freedom)
  }
}
