/** All metrics of the run, by section, over iterations, time, tokens or dollars. */
import * as Story from "@effect-rl/core/story/Story"
import * as MetricSeries from "../story/MetricSeries.ts"
import { empty } from "./Dom.ts"
import * as MetricGrid from "./MetricGrid.ts"
import type * as Route from "./Route.ts"
import { type Data, plain, type Screen, waiting } from "./Screen.ts"

/** A story's series, valid for this number of records. */
interface Made {
  readonly records: number
  readonly axis: MetricSeries.Axis
  readonly series: ReadonlyArray<MetricGrid.Compared>
}

const made = new WeakMap<Story.Story<null>, Made>()

const seriesOf = (story: Story.Story<null>, axis: MetricSeries.Axis) => {
  const before = made.get(story)
  const { records: { length: records } } = story
  if (before?.records === records && before.axis === axis) return before.series
  const series = MetricSeries.of(story, axis).map(({ name, points, section }) => ({
    name,
    section,
    methods: [{ shade: "", seeds: [points] }]
  }))
  made.set(story, { records, axis, series })
  return series
}

/**
 * The route to the metric's curve on the run's screen. An outcome leads to the main curve, which shows all outcomes.
 * Undefined for token speeds and the use of the machine, which are not metrics of iterations.
 */
const leadOf = ({ run }: Route.Route) => ({ name, section }: MetricGrid.Compared): Route.Route | undefined =>
  section === MetricSeries.speed || section === MetricSeries.machine
    ? undefined
    : { at: "run", run, metric: section === MetricSeries.outcomes ? undefined : name }

export const render = ({ route, story }: Data): Screen => {
  if (story === undefined) return waiting("Metrics", "Reading the records …")
  const all = seriesOf(story, route.axis ?? "iteration")
  return plain(
    "Metrics",
    ...MetricGrid.draw(all, route, leadOf(route)),
    all.length > 0 ? undefined : empty(
      route.axis === "dollars" && Story.done(story) > 0 ? "This run was given no prices." : "No iteration is done yet."
    )
  )
}
