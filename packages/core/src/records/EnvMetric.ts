/**
 * Metrics that carry how they are aggregated.
 *
 * @example
 * const metrics: EnvMetric.Metrics = { correct: EnvMetric.rate(true), "tool/calls": EnvMetric.sum(2), depth: EnvMetric.max(4) }
 */

/** A `rate` is over episodes: an episode that does not report it counts as a miss. */
export type EnvMetric =
  | { readonly kind: "rate"; readonly hit: boolean }
  | { readonly kind: "mean"; readonly value: number }
  | { readonly kind: "sum"; readonly value: number }
  | { readonly kind: "max"; readonly value: number }

/** Metrics by name. */
export type Metrics = Readonly<Record<string, EnvMetric>>

/** A hit or a miss, averaged over episodes. */
export const rate = (hit: boolean): EnvMetric => ({ kind: "rate", hit })
/** A value that is averaged over reports. */
export const mean = (value: number): EnvMetric => ({ kind: "mean", value })
/** A value that is added up. */
export const sum = (value: number): EnvMetric => ({ kind: "sum", value })
/** A value of which the largest is kept. */
export const max = (value: number): EnvMetric => ({ kind: "max", value })

/** Combines two reports of one turn; of two means the later one counts. */
const combine = (left: EnvMetric, right: EnvMetric): EnvMetric => {
  if (left.kind === "sum" && right.kind === "sum") return sum(left.value + right.value)
  if (left.kind === "max" && right.kind === "max") return max(Math.max(left.value, right.value))
  if (left.kind === "rate" && right.kind === "rate") return rate(left.hit || right.hit)
  return right
}

/** The metrics of both, combined where they share a name. */
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

/** An environment may give a metric the name of a property that every object inherits. */
const reportOf = (metrics: Metrics, name: string) => Object.hasOwn(metrics, name) ? metrics[name] ?? [] : []

/** Aggregates what each episode reported: `episodes[e]` are the metrics of the turns of episode `e`. */
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
