/** A chart of the mean reward per iteration with its standard error, and of held-out evaluations. Clicking opens an iteration. */
import * as Statistics from "@effect-rl/core/records/Statistics"
import * as Quantity from "@effect-rl/core/report/Quantity"
import {
  type Evaluation,
  evaluations,
  evaluators,
  type Iteration,
  iterations,
  type Story
} from "@effect-rl/core/story/Story"
import { type Child, empty, h } from "./Dom.ts"
import * as EvaluationMarks from "./EvaluationMarks.ts"
import type * as EventMarks from "./EventMarks.ts"
import * as MetricChart from "./MetricChart.ts"
import * as Plot from "./Plot.ts"
import type * as Route from "./Route.ts"
import { go } from "./Screen.ts"
import * as Series from "./Series.ts"
import { svg } from "./Svg.ts"
import * as Text from "./Text.ts"

/** The mean reward as a point at the iteration's number, counted from 1; none if the reward is unknown. */
export const rewardOf = ({ index, updated }: Iteration<null>): ReadonlyArray<Series.Point> => {
  const reward = updated?.reward
  if (reward === undefined || reward.mean === null) return []
  const error = reward.standardError ?? 0
  return [{ iteration: index + 1, value: reward.mean, low: reward.mean - error, high: reward.mean + error }]
}

/**
 * The point of an evaluation: its score if there is no mean reward or the two differ by less than 0.11, so that the score fits the
 * reward's axis; otherwise its mean reward. None if the evaluation has neither.
 */
export const scoreOf = ({ evaluated, iteration }: Evaluation<null>): ReadonlyArray<Series.Point> => {
  const { reward, score } = evaluated ?? {}
  const mean = reward?.mean ?? undefined
  if (
    score?.value !== undefined && score.value !== null && (mean === undefined || Math.abs(mean - score.value) < 0.11)
  ) {
    return [{ iteration, value: score.value, low: score.low ?? score.value, high: score.high ?? score.value }]
  }
  if (reward === undefined || mean === undefined) return []
  return [{ iteration, value: mean, ...(Statistics.rewardInterval(reward) ?? { low: mean, high: mean }) }]
}

const rewardDot = ({ iteration, value }: Series.Point, { x, y }: Series.Scales, route: Route.Route) => {
  const isSelected = route.iteration === iteration - 1
  return svg("circle", {
    key: `reward ${iteration}`,
    class: isSelected ? "point selected" : "point",
    cx: x(iteration),
    cy: y(value),
    r: isSelected ? 6 : 4
  })
}

/** Maximum number of iterations drawn with dots; more dots would hide the line. */
const mostDots = 150

/** An iteration's reward and evaluations, as text. */
const reading =
  (rewards: ReadonlyArray<Series.Point>, measured: ReadonlyArray<Evaluation<null>>) => (iteration: number): string => {
    const reward = Series.nearest(rewards, iteration)
    const isThere = reward?.iteration === iteration
    return [
      ...(isThere
        ? [`mean reward ${Quantity.fixed(reward.value)} ± ${Quantity.fixed(reward.high - reward.value)}`]
        : []),
      ...measured.filter((evaluation) => evaluation.iteration === iteration)
        .flatMap((evaluation) => EvaluationMarks.reading(evaluation, scoreOf(evaluation)))
    ].join("; ")
  }

export const draw = (story: Story<null>, route: Route.Route, events: ReadonlyArray<EventMarks.Mark>): Child => {
  const points = iterations(story).flatMap(rewardOf)
  const measured = evaluations(story)
  const names = evaluators(story)
  const marked = measured.flatMap(scoreOf)
  if (points.length + marked.length === 0) return empty("No iteration is done yet.")
  const dots = (scales: Series.Scales, options: Series.Options) => {
    const visible = Series.inside(points, options)
    return visible.filter(({ iteration }) => visible.length <= mostDots || iteration - 1 === route.iteration)
      .map((point) => rewardDot(point, scales, route))
  }
  return Plot.draw({
    label: `Mean reward of ${Quantity.plural(points.length, "iteration")}`,
    size: MetricChart.size(),
    events,
    planned: MetricChart.planned(story),
    curves: [{ shade: "", points }],
    marked,
    marks: (scales, options) => [
      ...EvaluationMarks.lines(measured, scoreOf, scales, options, names),
      ...dots(scales, options),
      ...measured.filter((evaluation) => Series.inside(scoreOf(evaluation), options).length > 0)
        .flatMap((evaluation) => EvaluationMarks.draw(evaluation, scoreOf(evaluation), scales, route, names))
    ],
    least: [0, 1],
    read: reading(points, measured),
    open: (number) => go({ ...route, at: "iteration", iteration: number - 1, evaluator: undefined }),
    legend: [
      h("span", { class: "key key-reward" }, "mean reward ± standard error"),
      ...names.map((name) => EvaluationMarks.key(name, `${Text.foreign(name)} [95 %]`, names))
    ],
    route
  })
}
