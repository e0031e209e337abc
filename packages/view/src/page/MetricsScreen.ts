/** Every metric of the run, by section, over iterations, time, tokens or dollars. */
import * as Story from "@effect-rl/core/story/Story"
import { type Child, empty, h } from "./Dom.ts"
import * as FilterFields from "./FilterFields.ts"
import * as MetricGrid from "./MetricGrid.ts"
import * as MetricSeries from "./MetricSeries.ts"
import * as PlotControls from "./PlotControls.ts"
import * as Route from "./Route.ts"
import { type Data, plain, type Screen, waiting } from "./Screen.ts"

/** The series of a story that has so many records. */
interface Made {
  readonly records: number
  readonly axis: Route.Axis
  readonly series: ReadonlyArray<MetricSeries.MetricSeries>
}

const made = new WeakMap<Story.Story<null>, Made>()

const seriesOf = (story: Story.Story<null>, axis: Route.Axis) => {
  const before = made.get(story)
  const { records: { length: records } } = story
  if (before?.records === records && before.axis === axis) return before.series
  const series = MetricSeries.of(story, axis)
  made.set(story, { records, axis, series })
  return series
}

const isShown = ({ name }: MetricSeries.MetricSeries, filter: string) =>
  filter.toLowerCase().split(/\s+/).every((word) => name.toLowerCase().includes(word))

const controls = (route: Route.Route, shown: number, all: number): Child =>
  h(
    "p",
    { class: "summary filters" },
    FilterFields.words("filter (/)", route.filter, (filter) => ({ ...route, filter })),
    FilterFields.select("over", route.axis, Route.axes, (axis) => ({
      ...route,
      axis: Route.axes.find((known) => known === axis)
    }), "iteration"),
    PlotControls.smoothing(route),
    h("span", { class: "facts", role: "status" }, shown === all ? `${all} metrics` : `${shown} of ${all} metrics`)
  )

export const render = ({ route, story }: Data): Screen => {
  if (story === undefined) return waiting("Metrics", "Reading the records …")
  const all = seriesOf(story, route.axis ?? "iteration")
  const shown = all.filter((series) => isShown(series, route.filter ?? ""))
  return plain(
    "Metrics",
    controls(route, shown.length, all.length),
    shown.length === 0
      ? empty(
        all.length > 0
          ? "No metric passes the filter."
          : route.axis === "dollars" && Story.done(story) > 0
          ? "This run was given no prices."
          : "No iteration is done yet."
      )
      : MetricGrid.draw(shown, route)
  )
}
