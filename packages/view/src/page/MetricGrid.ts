/** Small charts beside each other: whatever place of one is pointed at is read in all of them. */
import * as Signs from "@effect-rl/core/rl/metrics/Health"
import { useMemo, useState } from "preact/hooks"
import { type Child, h, panel, part } from "./Dom.ts"
import * as MetricSeries from "./MetricSeries.ts"
import type { Route } from "./Route.ts"
import { link } from "./Screen.ts"
import { picture, svg } from "./Svg.ts"
import * as Text from "./Text.ts"

const [width, height, margin] = [260, 84, 4]

/** More points than pixels would be drawn over each other. */
const mostPoints = 2 * width

interface Extent {
  readonly from: number
  readonly to: number
}

interface ChartProps {
  readonly series: MetricSeries.MetricSeries
  readonly shown: ReadonlyArray<MetricSeries.Point>
  readonly extent: Extent
  readonly route: Route
  readonly pointed: number | undefined
}

const thinned = (points: ReadonlyArray<MetricSeries.Point>) => {
  const each = Math.ceil(points.length / mostPoints)
  return points.filter((_, at) => at % each === 0 || at === points.length - 1)
}

const across = (x: number, { from, to }: Extent) =>
  margin + (to > from ? (x - from) / (to - from) : 0.5) * (width - 2 * margin)

const rangeOf = (points: ReadonlyArray<MetricSeries.Point>) => {
  const values = points.map(({ value }) => value)
  const [low, high] = [Math.min(...values), Math.max(...values)]
  return high > low ? { low, high } : { low: low - 0.5, high: high + 0.5 }
}

const signOf = (name: string) => Signs.signs.find((sign) => Signs.isOf(sign)(name))

/** The healthy range as far as the chart shows it. */
const band = (name: string, low: number, high: number, up: (value: number) => number): Child => {
  const { healthy } = signOf(name) ?? {}
  if (healthy === undefined) return undefined
  const top = up(Math.min(high, healthy.most ?? high))
  const bottom = up(Math.max(low, healthy.least ?? low))
  return bottom > top
    ? svg("rect", { class: "healthy", x: margin, width: width - 2 * margin, y: top, height: bottom - top })
    : undefined
}

const curve = ({ extent, series: { name }, shown }: Pick<ChartProps, "extent" | "series" | "shown">): Child => {
  const points = thinned(shown)
  const { high, low } = rangeOf(points)
  const up = (value: number) => height - margin - ((value - low) / (high - low)) * (height - 2 * margin)
  const places = points.map(({ value, x }) => `${across(x, extent).toFixed(1)},${up(value).toFixed(1)}`)
  const [only] = points
  return [
    band(name, low, high, up),
    points.length === 1 && only !== undefined
      ? svg("circle", { class: "point", cx: across(only.x, extent), cy: up(only.value), r: 3 })
      : svg("polyline", { class: "curve", points: places.join(" ") })
  ]
}

const readingOf = ({ pointed, shown }: Pick<ChartProps, "pointed" | "shown">) =>
  pointed === undefined ? shown.at(-1) : MetricSeries.before(shown, pointed)

const Chart = (props: ChartProps): Child => {
  const { extent, pointed, route, series, shown } = props
  const { name } = series
  const isOutcome = series.section === MetricSeries.outcomes
  const values = shown.map(({ value }) => value)
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const drawn = useMemo(() => curve(props), [series, shown.length, shown.at(-1)?.value, extent.from, extent.to])
  const [first, last] = [shown[0], shown.at(-1)]
  const reading = readingOf(props)
  const label = `${Text.foreign(name)} from ${Text.short(first?.value)} to ${Text.short(last?.value)}`
  return h(
    "figure",
    { class: "small" },
    h(
      "figcaption",
      {},
      link({ at: "run", run: route.run, metric: isOutcome ? undefined : name }, Text.foreign(name)),
      h("small", {}, `${Text.short(low)} to ${Text.short(high)}`),
      h("output", {}, Text.short(reading?.value))
    ),
    picture(
      label,
      width,
      height,
      { class: "chart", preserveAspectRatio: "none" },
      drawn,
      pointed === undefined
        ? undefined
        : svg("line", { class: "pointed", x1: across(pointed, extent), x2: across(pointed, extent), y1: 0, y2: height })
    )
  )
}

interface GridProps {
  readonly all: ReadonlyArray<MetricSeries.MetricSeries>
  readonly route: Route
}

const extentOf = (all: ReadonlyArray<MetricSeries.MetricSeries>): Extent => {
  const ends = all.flatMap(({ points }) => [points[0]?.x, points.at(-1)?.x]).filter((x) => x !== undefined)
  return { from: Math.min(...ends), to: Math.max(...ends) }
}

/** The place on the axis under the pointer, where it is over a chart. */
const placeOf = (event: Event, { from, to }: Extent): number | undefined => {
  const chart = event.target instanceof Element ? event.target.closest("svg.chart") : null
  if (chart === null || !(event instanceof PointerEvent)) return undefined
  const { left, width: wide } = chart.getBoundingClientRect()
  const share = ((event.clientX - left) / wide * width - margin) / (width - 2 * margin)
  return from + Math.min(1, Math.max(0, share)) * (to - from)
}

const units = { iteration: "iteration", minutes: "minute", tokens: "tokens", dollars: "dollars" }

const Grid = ({ all, route }: GridProps): Child => {
  const [pointed, point] = useState<number>()
  const extent = useMemo(() => extentOf(all), [all])
  const shown = useMemo(
    () => all.map((series) => ({ series, shown: MetricSeries.smoothed(series.points, route.smooth ?? 1) })),
    [all, route.smooth]
  )
  const sections = [...new Set(all.map(({ section }) => section))]
  const unit = units[route.axis ?? "iteration"]
  return h(
    "div",
    {
      class: "sections",
      onPointerMove: (event) => point(placeOf(event, extent)),
      onPointerLeave: () => point(undefined)
    },
    h(
      "p",
      { class: "told", role: "status" },
      pointed === undefined
        ? `newest values, from ${unit} ${Text.short(extent.from)} to ${Text.short(extent.to)}`
        : `values at ${unit} ${Text.short(Number(pointed.toPrecision(3)))}`
    ),
    ...sections.map((section) =>
      panel(
        Text.foreign(section),
        h(
          "div",
          { class: "charts" },
          ...shown.filter(({ series }) => series.section === section).map(({ series, shown }) =>
            part(Chart, { series, shown, extent, route, pointed }, series.name)
          )
        )
      )
    )
  )
}

export const draw = (all: ReadonlyArray<MetricSeries.MetricSeries>, route: Route): Child =>
  part(Grid, { all, route }, "grid")
