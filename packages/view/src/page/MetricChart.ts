/** A metric of each iteration. */
import { type Iteration, iterations, lastUpdated, type Story } from "@effect-rl/core/story/Story"
import { type Child, empty } from "./Dom.ts"
import * as Plot from "./Plot.ts"
import type { Route } from "./Route.ts"
import { go } from "./Screen.ts"
import * as Series from "./Series.ts"
import * as Text from "./Text.ts"

export const size: Series.Size = { width: 760, height: 272, left: 64, right: 16, top: 12, bottom: 52 }

/** The metrics of the newest iteration. */
export const names = (story: Story<null>): ReadonlyArray<string> =>
  Object.keys(lastUpdated(story)?.metrics ?? {}).toSorted()

const pointOf = (metric: string) => ({ index, updated }: Iteration<null>): ReadonlyArray<Series.Point> => {
  const value = updated?.metrics[metric]
  return value === undefined || value === null ? [] : [{ iteration: index + 1, value, low: value, high: value }]
}

export const draw = (story: Story<null>, route: Route, metric: string): Child => {
  const points = iterations(story).flatMap(pointOf(metric))
  if (points.length === 0) return empty("No iteration has a number for this metric.")
  return Plot.draw({
    label: `${Text.foreign(metric)} of ${Text.plural(points.length, "iteration")}`,
    size,
    curves: [{ shade: "", points }],
    marked: [],
    marks: () => [],
    least: [],
    read: (iteration) => {
      const near = Series.nearest(points, iteration)
      return near?.iteration === iteration ? Text.short(near.value) : "–"
    },
    open: (number) => go({ ...route, at: "iteration", iteration: number - 1, evaluator: undefined }),
    legend: [],
    route
  })
}
