/** Mean reward of each iteration with its standard error, and held-out evaluations, as a picture to click on. */
import { type Evaluation, evaluations, evaluators, type Iteration, iterations, type Story } from "../story/Story.ts"
import { type Child, empty, h } from "./Dom.ts"
import type * as Route from "./Route.ts"
import { go } from "./Screen.ts"
import * as Series from "./Series.ts"
import { picture, svg } from "./Svg.ts"
import * as Text from "./Text.ts"

const size: Series.Size = { width: 760, height: 250, left: 48, right: 16, top: 12, bottom: 30 }

export const rewardOf = ({ index, updated }: Iteration): ReadonlyArray<Series.Point> => {
  const reward = updated?.reward
  if (reward === undefined || reward.mean === null) return []
  const error = reward.standardError ?? 0
  return [{ iteration: index, value: reward.mean, low: reward.mean - error, high: reward.mean + error }]
}

/** A score and a reward share the axis only where a right answer earns about 1. */
export const scoreOf = ({ evaluated, iteration }: Evaluation): ReadonlyArray<Series.Point> => {
  const { reward, score } = evaluated ?? {}
  const mean = reward?.mean ?? undefined
  if (
    score?.value !== undefined && score.value !== null && (mean === undefined || Math.abs(mean - score.value) < 0.11)
  ) {
    return [{ iteration, value: score.value, low: score.low ?? score.value, high: score.high ?? score.value }]
  }
  return mean === undefined ? [] : [{ iteration, value: mean, low: mean, high: mean }]
}

const rewardDot = (point: Series.Point, { x, y }: Series.Scales, route: Route.Route) => {
  const { iteration, value } = point
  const isSelected = route.iteration === iteration
  return svg(
    "circle",
    {
      key: `reward ${iteration}`,
      class: isSelected ? "point selected" : "point",
      cx: x(iteration),
      cy: y(value),
      r: isSelected ? 6 : 4,
      onClick: () => go({ ...route, at: "iteration", iteration, evaluator: undefined })
    },
    svg("title", {}, `iteration ${iteration}: reward ${Text.fixed(value)} ± ${Text.fixed(point.high - value)}`)
  )
}

/** Colours for so many evaluators; further ones share the last. */
const evaluatorColours = 3

const colourOf = (evaluator: string, all: ReadonlyArray<string>) =>
  `evaluator-${Math.min(evaluatorColours - 1, all.indexOf(evaluator))}`

const evaluationMark = (
  evaluation: Evaluation,
  { x, y }: Series.Scales,
  route: Route.Route,
  all: ReadonlyArray<string>
) =>
  scoreOf(evaluation).map(({ high, iteration, low, value }) =>
    svg(
      "g",
      {
        key: `${evaluation.evaluator} ${iteration}`,
        class: `evaluation ${colourOf(evaluation.evaluator, all)}`,
        onClick: () => go({ ...route, at: "iteration", iteration, evaluator: evaluation.evaluator })
      },
      svg("line", { x1: x(iteration), x2: x(iteration), y1: y(low), y2: y(high) }),
      svg("rect", { x: x(iteration) - 4, y: y(value) - 4, width: 8, height: 8 }),
      svg(
        "title",
        {},
        `${evaluation.evaluator} before iteration ${iteration}: ${Text.fixed(value)} [${Text.fixed(low)}, ${
          Text.fixed(high)
        }]`
      )
    )
  )

/** Beyond so many iterations single dots only hide the line. */
const mostDots = 150

export const draw = (story: Story, route: Route.Route): Child => {
  const rewards = iterations(story).flatMap(rewardOf)
  const measured = evaluations(story)
  const names = evaluators(story)
  const all = [...rewards, ...measured.flatMap(scoreOf)]
  if (all.length === 0) return empty("No iteration is done yet.")
  const scale = Series.scales(all, size)
  const curve = Series.thinned(rewards)
  const dots = rewards.filter(({ iteration }) => rewards.length <= mostDots || iteration === route.iteration)
  return h(
    "figure",
    {},
    picture(
      `Mean reward of ${rewards.length} iterations`,
      size.width,
      size.height,
      { class: "reward" },
      ...Series.axes(scale, size),
      svg("polygon", { class: "band", points: Series.band(curve, scale) }),
      svg("polyline", { class: "curve", points: Series.line(curve, scale) }),
      ...dots.map((point) => rewardDot(point, scale, route)),
      ...measured.flatMap((evaluation) => evaluationMark(evaluation, scale, route, names))
    ),
    h(
      "figcaption",
      {},
      h("span", { class: "key key-reward" }, "mean reward ± standard error"),
      ...names.map((name) =>
        h("span", { class: `key key-evaluation ${colourOf(name, names)}` }, `${Text.foreign(name)} [95 %]`)
      )
    )
  )
}
