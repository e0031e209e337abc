/** Mean reward of each iteration with its standard error, and held-out evaluations, as a picture to click on. */
import { type Evaluation, evaluations, evaluators, type Iteration, iterations, type Story } from "../story/Story.ts"
import { h, svg } from "./Dom.ts"
import * as Route from "./Route.ts"
import * as Text from "./Text.ts"

const size = { width: 760, height: 250, left: 48, right: 16, top: 12, bottom: 30 }

interface Point {
  readonly iteration: number
  readonly value: number
  readonly low: number
  readonly high: number
}

const rewardOf = ({ index, updated }: Iteration): ReadonlyArray<Point> => {
  const reward = updated?.reward
  if (reward === undefined || reward.mean === null) return []
  const error = reward.standardError ?? 0
  return [{ iteration: index, value: reward.mean, low: reward.mean - error, high: reward.mean + error }]
}

/** A score and a reward share the axis only where a right answer earns about 1. */
const scoreOf = ({ evaluated, iteration }: Evaluation): ReadonlyArray<Point> => {
  const { reward, score } = evaluated ?? {}
  const mean = reward?.mean ?? undefined
  if (
    score?.value !== undefined && score.value !== null && (mean === undefined || Math.abs(mean - score.value) < 0.11)
  ) {
    return [{ iteration, value: score.value, low: score.low ?? score.value, high: score.high ?? score.value }]
  }
  return mean === undefined ? [] : [{ iteration, value: mean, low: mean, high: mean }]
}

interface Scales {
  readonly x: (iteration: number) => number
  readonly y: (value: number) => number
  readonly ticks: ReadonlyArray<number>
  readonly last: number
}

const niceStep = (span: number) => {
  const rough = span / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  return power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10)
}

const scales = (points: ReadonlyArray<Point>): Scales => {
  let [low, high, last] = [0, 1, 1]
  for (const point of points) {
    low = Math.min(low, point.low)
    high = Math.max(high, point.high)
    last = Math.max(last, point.iteration)
  }
  const step = niceStep(high - low)
  const [bottom, top] = [Math.floor(low / step) * step, Math.ceil(high / step) * step]
  const { height, left, right, width } = size
  return {
    x: (iteration) => left + (iteration / last) * (width - left - right),
    y: (value) => height - size.bottom - ((value - bottom) / (top - bottom)) * (height - size.top - size.bottom),
    ticks: Array.from({ length: Math.round((top - bottom) / step) + 1 }, (_, index) => bottom + index * step),
    last
  }
}

const axes = ({ last, ticks, x, y }: Scales) => [
  ...ticks.flatMap((tick) => [
    svg("line", { class: "grid", x1: size.left, x2: size.width - size.right, y1: y(tick), y2: y(tick) }),
    svg("text", { class: "tick", x: size.left - 6, y: y(tick) + 4, "text-anchor": "end" }, Text.short(tick))
  ]),
  ...[...new Set([0, Math.round(last / 2), last])].map((tick) =>
    svg("text", { class: "tick", x: x(tick), y: size.height - 8, "text-anchor": "middle" }, String(tick))
  )
]

const line = (points: ReadonlyArray<Point>, { x, y }: Scales) =>
  points.map(({ iteration, value }) => `${x(iteration).toFixed(1)},${y(value).toFixed(1)}`).join(" ")

const band = (points: ReadonlyArray<Point>, { x, y }: Scales) => {
  const upper = points.map(({ high, iteration }) => `${x(iteration).toFixed(1)},${y(high).toFixed(1)}`)
  const lower = points.toReversed().map(({ iteration, low }) => `${x(iteration).toFixed(1)},${y(low).toFixed(1)}`)
  return [...upper, ...lower].join(" ")
}

const opening = (route: Route.Route) => () => {
  location.hash = Route.format(route)
}

const rewardDot = (point: Point, { x, y }: Scales, route: Route.Route) => {
  const { iteration, value } = point
  const error = Text.fixed(point.high - value)
  const isSelected = route.iteration === iteration
  return svg(
    "circle",
    {
      class: isSelected ? "point selected" : "point",
      cx: x(iteration),
      cy: y(value),
      r: isSelected ? 6 : 4,
      click: opening({ ...route, at: "iteration", iteration, evaluator: undefined })
    },
    svg("title", {}, `iteration ${iteration}: reward ${Text.fixed(value)} ± ${error}`)
  )
}

/** Colours for so many evaluators; further ones share the last. */
const evaluatorColours = 3

const colourOf = (evaluator: string, all: ReadonlyArray<string>) =>
  `evaluator-${Math.min(evaluatorColours - 1, all.indexOf(evaluator))}`

const evaluationMark = (
  evaluation: Evaluation,
  { x, y }: Scales,
  route: Route.Route,
  all: ReadonlyArray<string>
) =>
  scoreOf(evaluation).map(({ high, iteration, low, value }) =>
    svg(
      "g",
      {
        class: `evaluation ${colourOf(evaluation.evaluator, all)}`,
        click: opening({ ...route, at: "iteration", iteration, evaluator: evaluation.evaluator })
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
const mostDots = 200

export const draw = (story: Story, route: Route.Route): Node => {
  const rewards = iterations(story).flatMap(rewardOf)
  const measured = evaluations(story)
  const names = evaluators(story)
  const all = [...rewards, ...measured.flatMap(scoreOf)]
  if (all.length === 0) return h("p", { class: "empty" }, "No iteration is done yet.")
  const scale = scales(all)
  const dots = rewards.filter(({ iteration }) => rewards.length <= mostDots || iteration === route.iteration)
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${size.width} ${size.height}`, role: "img", "aria-label": "Mean reward of each iteration" },
    ...axes(scale),
    svg("polygon", { class: "band", points: band(rewards, scale) }),
    svg("polyline", { class: "curve", points: line(rewards, scale) }),
    ...dots.map((point) => rewardDot(point, scale, route)),
    ...measured.flatMap((evaluation) => evaluationMark(evaluation, scale, route, names))
  )
  return h(
    "figure",
    {},
    picture,
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
