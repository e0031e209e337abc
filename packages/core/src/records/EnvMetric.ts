/**
 * Metrics that state how they are aggregated over episodes.
 *
 * @example
 * const metrics: EnvMetric.Metrics = { correct: EnvMetric.rate(true), "tool/calls": EnvMetric.sum(2), depth: EnvMetric.max(4) }
 */

/**
 * A metric that an environment reports. Means, sums and maxima are taken over reports. A `rate` is taken over episodes: an episode that
 * does not report it counts as a miss.
 */
export type EnvMetric =
  | { readonly kind: "rate"; readonly hit: boolean }
  | { readonly kind: "mean"; readonly value: number }
  | { readonly kind: "sum"; readonly value: number }
  | { readonly kind: "max"; readonly value: number }

/** Metrics by name. */
export type Metrics = Readonly<Record<string, EnvMetric>>

/** A hit or a miss. Aggregates to the fraction of episodes with a hit. */
export const rate = (hit: boolean): EnvMetric => ({ kind: "rate", hit })
/** A value that aggregates to the mean of all reports. */
export const mean = (value: number): EnvMetric => ({ kind: "mean", value })
/** A value that aggregates to the sum of all reports. */
export const sum = (value: number): EnvMetric => ({ kind: "sum", value })
/** A value that aggregates to the largest report. */
export const max = (value: number): EnvMetric => ({ kind: "max", value })

/** Combines two reports of one metric in one turn. Sums add up, maxima and hits keep the larger; otherwise the later report counts. */
const combine = (left: EnvMetric, right: EnvMetric): EnvMetric => {
  if (left.kind === "sum" && right.kind === "sum") return sum(left.value + right.value)
  if (left.kind === "max" && right.kind === "max") return max(Math.max(left.value, right.value))
  if (left.kind === "rate" && right.kind === "rate") return rate(left.hit || right.hit)
  return right
}

/**
 * Combines two reports of a turn. Of metrics with the same name, sums are added, maxima and rates keep the larger; otherwise the right one
 * counts.
 */
export const merge = (left: Metrics, right: Metrics): Metrics => {
  const both = Object.entries(right).map(([name, metric]): [string, EnvMetric] => {
    const earlier = Object.hasOwn(left, name) ? left[name] : undefined
    return [name, earlier === undefined ? metric : combine(earlier, metric)]
  })
  return { ...left, ...Object.fromEntries(both) }
}

const total = (values: ReadonlyArray<number>) => values.reduce((left, right) => left + right, 0)

const reduce = (reports: ReadonlyArray<EnvMetric>, hits: number, episodes: number): number => {
  const values = reports.flatMap((report) => report.kind === "rate" ? [] : [report.value])
  switch (reports[0]?.kind) {
    case "mean":
      return total(values) / values.length
    case "sum":
      return total(values)
    case "max":
      return values.reduce((left, right) => Math.max(left, right), -Infinity)
    default:
      return episodes === 0 ? 0 : hits / episodes
  }
}

/**
 * The report of a metric, empty if there is none. It reads own properties only, because a metric may be called `constructor` or `toString`.
 */
const reportOf = (metrics: Metrics, name: string) => Object.hasOwn(metrics, name) ? metrics[name] ?? [] : []

/**
 * Aggregates the metrics of several episodes; `episodes[e]` holds the reports of episode `e`, such as one per turn. The first report of a
 * metric decides its kind.
 */
export const aggregate = (episodes: ReadonlyArray<ReadonlyArray<Metrics>>): Record<string, number> => {
  const names = new Set(episodes.flat().flatMap((metrics) => Object.keys(metrics)))
  const result: Record<string, number> = Object.create(null)
  for (const name of names) {
    const reportsE = episodes.map((turns) => turns.flatMap((metrics) => reportOf(metrics, name)))
    const hits = reportsE.filter((reports) => reports.some((report) => report.kind === "rate" && report.hit)).length
    result[name] = reduce(reportsE.flat(), hits, episodes.length)
  }
  return result
}
