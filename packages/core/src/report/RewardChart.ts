/** A reward curve as an SVG document. */
import * as Axis from "./Axis.ts"
import type { Report, RewardSeries } from "./RewardSeries.ts"
import * as Svg from "./Svg.ts"

const size = { width: 800, height: 450 }
const plot = { left: 64, right: 776, top: 72, bottom: 396 }
const color = {
  text: "#1f2933",
  muted: "#5f6c7b",
  grid: "#e4e8ee",
  iteration: "#8fb0d6",
  mean: "#1f5fa8",
  held: "#d9622b"
}

const label = (x: number, y: number, value: string, attributes: Svg.Attributes = {}) =>
  Svg.text(x, y, value, { fill: color.muted, ...attributes })

interface Place {
  readonly x: (iteration: number) => number
  readonly y: (value: number) => number
}

const polyline = (place: Place, points: ReadonlyArray<Report>) =>
  points.map(({ reward, iteration }) => `${Svg.number(place.x(iteration))},${Svg.number(place.y(reward))}`).join(" ")

const grid = (place: Place, iterations: Axis.Axis, values: Axis.Axis, name: string) => [
  ...values.ticks.flatMap((tick) => [
    Svg.element("line", { x1: plot.left, x2: plot.right, y1: place.y(tick), y2: place.y(tick), stroke: color.grid }),
    label(plot.left - 8, place.y(tick) + 4, values.label(tick), { "text-anchor": "end" })
  ]),
  ...iterations.ticks.flatMap((tick) => [
    Svg.element("line", {
      x1: place.x(tick),
      x2: place.x(tick),
      y1: plot.bottom,
      y2: plot.bottom + 5,
      stroke: color.muted
    }),
    label(place.x(tick), plot.bottom + 20, iterations.label(tick), { "text-anchor": "middle" })
  ]),
  Svg.element("line", { x1: plot.left, x2: plot.right, y1: plot.bottom, y2: plot.bottom, stroke: color.muted }),
  label((plot.left + plot.right) / 2, plot.bottom + 42, "iteration", { "text-anchor": "middle" }),
  label(18, (plot.top + plot.bottom) / 2, name, {
    "text-anchor": "middle",
    transform: `rotate(-90 18 ${(plot.top + plot.bottom) / 2})`
  })
]

const band = (place: Place, reports: RewardSeries["reports"]) => {
  const edge = (sign: number) =>
    reports.map(({ reward, rewardStandardError, iteration }) => ({
      iteration,
      reward: reward + sign * rewardStandardError
    }))
  const points = polyline(place, [...edge(1), ...edge(-1).toReversed()])
  return Svg.element("polygon", { points, fill: color.iteration, "fill-opacity": "0.3" })
}

const curves = (place: Place, { reports, runningMean }: RewardSeries) => [
  band(place, reports),
  Svg.element("polyline", {
    points: polyline(place, reports),
    fill: "none",
    stroke: color.iteration,
    "stroke-width": "1.2"
  }),
  ...(reports.length === 1 ? reports : []).map(({ reward, iteration }) =>
    Svg.element("circle", { cx: place.x(iteration), cy: place.y(reward), r: 3, fill: color.mean })
  ),
  Svg.element("polyline", {
    points: polyline(place, runningMean),
    fill: "none",
    stroke: color.mean,
    "stroke-width": "2.4",
    "stroke-linejoin": "round"
  })
]

const heldOutLine = (place: Place, evaluations: RewardSeries["evaluations"]) =>
  Svg.element("polyline", {
    points: polyline(place, evaluations.map(({ iteration, value }) => ({ iteration, reward: value }))),
    fill: "none",
    stroke: color.held,
    "stroke-width": "1.2"
  })

const heldOut = (place: Place, { evaluations }: RewardSeries) => [
  ...(evaluations.length < 2 ? [] : [heldOutLine(place, evaluations)]),
  ...evaluations.flatMap(({ high, low, iteration, value }) => {
    const [x, y] = [place.x(iteration), place.y(value)]
    const corners = [[x, y - 6], [x + 6, y], [x, y + 6], [x - 6, y]].map((corner) => corner.map(Svg.number).join(","))
    return [
      Svg.element("line", {
        x1: x,
        x2: x,
        y1: place.y(low ?? value),
        y2: place.y(high ?? value),
        stroke: color.held,
        "stroke-width": "1.5"
      }),
      Svg.element("polygon", { points: corners.join(" "), fill: color.held, stroke: "#fff", "stroke-width": "1.5" })
    ]
  })
]

const nameOfHeldOut = "held out"

const legend = ({ evaluations, window }: RewardSeries) =>
  [
    { x: 64, name: "mean of an iteration ± standard error", swatch: color.iteration },
    { x: 323, name: `mean of the last ${window}`, swatch: color.mean },
    ...(evaluations.length === 0 ? [] : [{ x: 497, name: nameOfHeldOut, swatch: color.held }])
  ].flatMap(({ name, swatch, x }) => [
    Svg.element("line", { x1: x, x2: x + 16, y1: 50, y2: 50, stroke: swatch, "stroke-width": "4" }),
    label(x + 22, 54, name)
  ])

const valuesOf = ({ evaluations, reports }: RewardSeries) => [
  ...reports.flatMap(({ reward, rewardStandardError: error }) => [reward - error, reward + error]),
  ...evaluations.flatMap(({ high, low, value }) => [low ?? value, value, high ?? value])
]

const body = (series: RewardSeries) => {
  if (series.extent === undefined) {
    return [label(size.width / 2, size.height / 2, "no iterations yet", { "text-anchor": "middle", "font-size": "14" })]
  }
  const values = Axis.ofValues(valuesOf(series), 6)
  const iterations = Axis.ofIterations(...series.extent, 8)
  const place: Place = {
    x: (iteration) => plot.left + Axis.place(iterations, iteration) * (plot.right - plot.left),
    y: (value) => plot.bottom - Axis.place(values, value) * (plot.bottom - plot.top)
  }
  if (series.reports.length === 0) {
    return [...grid(place, iterations, values, nameOfHeldOut), ...heldOut(place, series)]
  }
  return [
    ...grid(place, iterations, values, "reward"),
    ...curves(place, series),
    ...heldOut(place, series),
    ...legend(series)
  ]
}

export const draw = (series: RewardSeries, title: string): string =>
  Svg.document(size, title, [
    label(plot.left, 28, title, { fill: color.text, "font-size": "16", "font-weight": "bold" }),
    ...body(series)
  ])
