/**
 * Curves of several methods, of their rewards or another training measure. Each run has a line; several seeds share a line for their mean
 * and a band for its standard error.
 */
import * as Statistics from "@effect-rl/core/records/Statistics"
import * as Quantity from "@effect-rl/core/report/Quantity"
import type { ComparedRun, Comparison } from "../story/Entry.ts"
import * as MethodName from "../story/MethodName.ts"
import { type Child, empty, h } from "./Dom.ts"
import * as MetricChart from "./MetricChart.ts"
import * as Plot from "./Plot.ts"
import type { Route } from "./Route.ts"
import * as Series from "./Series.ts"
import * as Text from "./Text.ts"

const pointOf = (iteration: number, value: number, error: number): Series.Point => ({
  iteration,
  value,
  low: value - error,
  high: value + error
})

/** A single run's curve, or the mean of several seeds with its standard error. */
const curveOf = (runs: ReadonlyArray<ComparedRun>): ReadonlyArray<Series.Point> => {
  const [only, ...others] = runs
  if (only !== undefined && others.length === 0) {
    return only.points.map(({ iteration, mean, standardError }) => pointOf(iteration + 1, mean, standardError))
  }
  const byIteration = new Map<number, Array<number>>()
  for (const { points } of runs) {
    for (const { iteration, mean } of points) {
      byIteration.set(iteration, [...(byIteration.get(iteration) ?? []), mean])
    }
  }
  return [...byIteration].toSorted(([left], [right]) => left - right).map(([iteration, values]) => {
    const variance = values.length < 2 ? 0 : Statistics.variance(values)
    return pointOf(iteration + 1, Statistics.mean(values), Math.sqrt(variance / values.length))
  })
}

export const nameOf = (run: string) => Text.foreign(MethodName.ofRun(run))

export const methodName = (runs: ReadonlyArray<string>) => Text.foreign(MethodName.of(runs))

/** The measure of the curves, taken from the first run. Runs with other measures have no curve. */
export const measureOf = ({ runs: [first] }: Comparison): string => first?.measure ?? "reward"

export const draw = (comparison: Comparison, route: Route): Child => {
  const { methods, runs } = comparison
  const measure = measureOf(comparison)
  const isReward = measure === "reward"
  const curves = methods.map((_, method) => ({
    shade: `method-${method}`,
    points: curveOf(runs.filter((run) => run.method === method && run.measure === measure))
  }))
  if (curves.every(({ points }) => points.length === 0)) return empty("None of the runs has finished an iteration.")
  const names = methods.map(methodName)
  const read = (iteration: number) =>
    curves.flatMap(({ points }, method) => {
      const near = Series.nearest(points, iteration)
      if (near?.iteration !== iteration) return []
      const error = isReward || near.high > near.value ? ` ± ${Quantity.fixed(near.high - near.value)}` : ""
      return [`${names[method]} ${Quantity.fixed(near.value)}${error}`]
    }).join("; ")
  return Plot.draw({
    label: `${isReward ? "Mean reward" : Text.foreign(measure)} of each iteration of every method`,
    size: MetricChart.size(),
    curves,
    marked: [],
    marks: () => [],
    least: isReward ? [0, 1] : [],
    read,
    legend: names.map((name, method) =>
      h("span", { class: `key key-method method-${method}` }, isReward ? `${name} ± SE` : name)
    ),
    route
  })
}
