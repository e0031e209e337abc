/** A chart of one metric by iteration. */
import * as Diagnosis from "@effect-rl/core/report/Diagnosis"
import * as Quantity from "@effect-rl/core/report/Quantity"
import {
  type Evaluation,
  evaluations,
  type Iteration,
  iterations,
  lastUpdated,
  type Story
} from "@effect-rl/core/story/Story"
import { type Child, empty } from "./Dom.ts"
import * as EvaluationMarks from "./EvaluationMarks.ts"
import type * as EventMarks from "./EventMarks.ts"
import * as Plot from "./Plot.ts"
import type { Route } from "./Route.ts"
import { go } from "./Screen.ts"
import * as Series from "./Series.ts"
import * as Text from "./Text.ts"

const wide: Series.Size = { width: 1180, height: 300, left: 56, right: 16, top: 12, bottom: 52 }

const narrow: Series.Size = { width: 480, height: 260, left: 60, right: 18, top: 12, bottom: 52 }

/** The chart is as wide as the page. A phone gets a narrower chart whose labels are the same size. */
export const size = (): Series.Size => matchMedia("(max-width: 860px)").matches ? narrow : wide

/** Number of planned iterations while a run is in progress; 1 if it has ended or plans no number. */
export const planned = ({ end, opened }: Story<null>): number => end === undefined ? opened?.iterations ?? 1 : 1

/** Metric names of the newest iteration. */
export const names = (story: Story<null>): ReadonlyArray<string> =>
  Object.keys(lastUpdated(story)?.metrics ?? {}).toSorted()

const pointOf = (metric: string) => ({ index, updated }: Iteration<null>): ReadonlyArray<Series.Point> => {
  const value = updated?.metrics[metric]
  return value === undefined || value === null ? [] : [{ iteration: index + 1, value, low: value, high: value }]
}

/** The held-out loss, shown with the training loss because they have the same unit. */
const heldOutOf = (metric: string) => ({ evaluated, iteration }: Evaluation<null>): ReadonlyArray<Series.Point> => {
  const reading = evaluated === undefined ? undefined : Diagnosis.reading(evaluated)
  return reading === undefined || reading.metric !== metric
    ? []
    : [{ iteration, value: reading.value, low: reading.value, high: reading.value }]
}

export const draw = (
  story: Story<null>,
  route: Route,
  metric: string,
  events: ReadonlyArray<EventMarks.Mark>
): Child => {
  const points = iterations(story).flatMap(pointOf(metric))
  const heldOut = heldOutOf(metric)
  const measured = evaluations(story).filter((evaluation) => heldOut(evaluation).length > 0)
  const evaluators = [...new Set(measured.map(({ evaluator }) => evaluator))]
  if (points.length === 0) return empty("No iteration has a number for this metric.")
  return Plot.draw({
    label: `${Text.foreign(metric)} of ${Quantity.plural(points.length, "iteration")}`,
    size: size(),
    events,
    planned: planned(story),
    curves: [{ shade: "", points }],
    marked: measured.flatMap(heldOut),
    marks: (scales, options) => [
      ...EvaluationMarks.lines(measured, heldOut, scales, options, evaluators),
      ...measured.flatMap((evaluation) =>
        EvaluationMarks.draw(evaluation, Series.inside(heldOut(evaluation), options), scales, route, evaluators)
      )
    ],
    least: [],
    read: (iteration) => {
      const near = Series.nearest(points, iteration)
      const held = measured.filter((evaluation) => evaluation.iteration === iteration)
        .flatMap((evaluation) => EvaluationMarks.reading(evaluation, heldOut(evaluation)))
      return [...near?.iteration === iteration ? [Text.short(near.value)] : [], ...held].join("; ") || "–"
    },
    open: (number) => go({ ...route, at: "iteration", iteration: number - 1, evaluator: undefined }),
    legend: evaluators.map((name) => EvaluationMarks.key(name, Text.foreign(name), evaluators)),
    route
  })
}
