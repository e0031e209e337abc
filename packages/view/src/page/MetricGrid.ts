/** Small charts side by side with a shared pointer: the place under the pointer is read in all charts. */
import * as Signs from "@effect-rl/core/rl/metrics/Health"
import { useMemo, useState } from "preact/hooks"
import * as MetricSeries from "../story/MetricSeries.ts"
import { type Child, empty, h, panel, part } from "./Dom.ts"
import * as FilterFields from "./FilterFields.ts"
import * as PlotControls from "./PlotControls.ts"
import type * as Route from "./Route.ts"
import { link } from "./Screen.ts"
import { picture, svg } from "./Svg.ts"
import * as Text from "./Text.ts"

const [width, height, margin] = [260, 84, 4]

/** Maximum points per curve; more points would overlap. */
const mostPoints = 2 * width

interface Extent {
  readonly from: number
  readonly to: number
}

/** A method's seeds; the chart shows their mean. */
interface Method {
  readonly shade: string
  readonly seeds: ReadonlyArray<ReadonlyArray<MetricSeries.Point>>
}

/** A metric of one run, or of several methods for comparison. */
export interface Compared {
  readonly name: string
  readonly section: string
  readonly methods: ReadonlyArray<Method>
}

interface Curve {
  readonly shade: string
  readonly points: ReadonlyArray<MetricSeries.Mean>
}

interface ChartProps {
  readonly series: Compared
  readonly curves: ReadonlyArray<Curve>
  readonly extent: Extent
  readonly lead: Route.Route | undefined
  readonly pointed: number | undefined
}

const across = (x: number, { from, to }: Extent) =>
  margin + (to > from ? (x - from) / (to - from) : 0.5) * (width - 2 * margin)

const rangeOf = (curves: ReadonlyArray<Curve>) => {
  let [low, high] = [Infinity, -Infinity]
  for (const { points } of curves) {
    for (const point of points) {
      low = Math.min(low, point.low)
      high = Math.max(high, point.high)
    }
  }
  return high > low ? { low, high } : { low: low - 0.5, high: high + 0.5 }
}

const signOf = (name: string) => Signs.signs.find((sign) => Signs.isOf(sign)(name))

/** The visible part of the healthy range. */
const band = (name: string, low: number, high: number, up: (value: number) => number): Child => {
  const { healthy } = signOf(name) ?? {}
  if (healthy === undefined) return undefined
  const top = up(Math.min(high, healthy.most ?? high))
  const bottom = up(Math.max(low, healthy.least ?? low))
  return bottom > top
    ? svg("rect", { class: "healthy", x: margin, width: width - 2 * margin, y: top, height: bottom - top })
    : undefined
}

const drawnOf = ({ curves, extent, series: { name } }: ChartProps): Child => {
  const { high, low } = rangeOf(curves)
  const up = (value: number) => height - margin - ((value - low) / (high - low)) * (height - 2 * margin)
  const place = (x: number, value: number) => `${across(x, extent).toFixed(1)},${up(value).toFixed(1)}`
  return [
    band(name, low, high, up),
    ...curves.flatMap(({ points, shade }) => {
      const [only] = points
      if (points.length === 1 && only !== undefined) {
        return [svg("circle", { class: `reading ${shade}`, cx: across(only.x, extent), cy: up(only.value), r: 3 })]
      }
      const isBand = points.some(({ high, low }) => high > low)
      return [
        isBand
          ? svg("polygon", {
            class: `band ${shade}`,
            points: [
              ...points.map(({ high, x }) => place(x, high)),
              ...points.toReversed().map(({ low, x }) => place(x, low))
            ].join(" ")
          })
          : undefined,
        svg("polyline", { class: `curve ${shade}`, points: points.map(({ value, x }) => place(x, value)).join(" ") })
      ]
    })
  ]
}

/** The value at the pointer, or else the newest; undefined if the method has no value there yet. */
const readingOf = ({ points }: Curve, pointed: number | undefined) =>
  pointed === undefined ? points.at(-1) : MetricSeries.before(points, pointed)

const Chart = (props: ChartProps): Child => {
  const { curves, extent, lead, pointed, series: { name } } = props
  const values = curves.flatMap(({ points }) => points.map(({ value }) => value))
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const drawn = useMemo(() => drawnOf(props), [curves, extent.from, extent.to])
  const told = curves.map(({ points }) => `from ${Text.short(points[0]?.value)} to ${Text.short(points.at(-1)?.value)}`)
  return h(
    "figure",
    { class: "small" },
    h(
      "figcaption",
      {},
      lead === undefined ? h("span", {}, Text.foreign(name)) : link(lead, Text.foreign(name)),
      curves.length > 1 ? undefined : h("small", {}, `${Text.short(low)} to ${Text.short(high)}`),
      ...curves.map((curve) => h("output", { class: curve.shade }, Text.short(readingOf(curve, pointed)?.value)))
    ),
    picture(
      `${Text.foreign(name)} ${told.join(", ")}`,
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
  readonly all: ReadonlyArray<Compared>
  readonly route: Route.Route
  readonly leadOf: (series: Compared) => Route.Route | undefined
}

const extentOf = (all: ReadonlyArray<Compared>): Extent => {
  let [from, to] = [Infinity, -Infinity]
  for (const { methods } of all) {
    for (const points of methods.flatMap(({ seeds }) => seeds)) {
      from = Math.min(from, points[0]?.x ?? from)
      to = Math.max(to, points.at(-1)?.x ?? to)
    }
  }
  return { from, to }
}

/** The last place on the axis that all methods reached; undefined if all end there, or if there is one method. */
const sharedOf = (all: ReadonlyArray<Compared>, { to }: Extent): number | undefined => {
  const ends = new Map<string, number>()
  for (const { seeds, shade } of all.flatMap(({ methods }) => methods)) {
    ends.set(shade, Math.max(ends.get(shade) ?? -Infinity, ...seeds.map((points) => points.at(-1)?.x ?? -Infinity)))
  }
  const shared = Math.min(...ends.values())
  return Number.isFinite(shared) && shared < to ? shared : undefined
}

/** The smoothed means over seeds, thinned to the points that the chart can show. */
const curvesOf = ({ methods }: Compared, over: number): ReadonlyArray<Curve> =>
  methods.map(({ seeds, shade }) => ({
    shade,
    points: MetricSeries.thinned(
      MetricSeries.meanOf(seeds.map((points) => MetricSeries.smoothed(points, over))),
      mostPoints
    )
  }))

/** The axis value under the pointer; undefined if the pointer is not over a chart. */
const placeOf = (event: Event, { from, to }: Extent): number | undefined => {
  const chart = event.target instanceof Element ? event.target.closest("svg.chart") : null
  if (chart === null || !(event instanceof PointerEvent)) return undefined
  const { left, width: wide } = chart.getBoundingClientRect()
  const share = ((event.clientX - left) / wide * width - margin) / (width - 2 * margin)
  return from + Math.min(1, Math.max(0, share)) * (to - from)
}

const units = { iteration: "iteration", minutes: "minute", tokens: "tokens", dollars: "dollars" }

const Grid = ({ all, leadOf, route }: GridProps): Child => {
  const [pointed, point] = useState<number>()
  const extent = useMemo(() => extentOf(all), [all])
  const drawn = useMemo(
    () => all.map((series) => ({ series, curves: curvesOf(series, route.smooth ?? 1) })),
    [all, route.smooth]
  )
  const shared = useMemo(() => sharedOf(all, extent), [all])
  const place = pointed ?? shared
  const shown = drawn.filter(({ series }) => isShown(series, route.filter ?? ""))
  const sections = [...new Set(shown.map(({ series: { section } }) => section))]
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
      pointed !== undefined
        ? `values at ${unit} ${Text.short(Number(pointed.toPrecision(3)))}`
        : shared !== undefined
        ? `values at ${unit} ${Text.short(shared)}, the last that all have reached, of ${Text.short(extent.to)}`
        : `newest values, from ${unit} ${Text.short(extent.from)} to ${Text.short(extent.to)}`
    ),
    ...sections.map((section) =>
      panel(
        Text.foreign(section),
        h(
          "div",
          { class: "charts" },
          ...shown.filter(({ series }) => series.section === section).map(({ curves, series }) =>
            part(Chart, { series, curves, extent, lead: leadOf(series), pointed: place }, series.name)
          )
        )
      )
    )
  )
}

const isShown = ({ name }: Compared, filter: string) =>
  filter.toLowerCase().split(/\s+/).every((word) => name.toLowerCase().includes(word))

const controls = (all: ReadonlyArray<Compared>, route: Route.Route): Child => {
  const shown = all.filter((series) => isShown(series, route.filter ?? "")).length
  return h(
    "p",
    { class: "summary filters" },
    FilterFields.words("filter (/)", route.filter, (filter) => ({ ...route, filter })),
    FilterFields.select("over", route.axis, MetricSeries.axes, (axis) => ({
      ...route,
      axis: MetricSeries.axes.find((known) => known === axis)
    }), "iteration"),
    PlotControls.smoothing(route),
    h(
      "span",
      { class: "facts", role: "status" },
      shown === all.length ? `${all.length} metrics` : `${shown} of ${all.length} metrics`
    )
  )
}

/** Charts of the metrics that match the filter, below the choice of axis. A metric's name links to its curve, if it has one. */
export const draw = (
  all: ReadonlyArray<Compared>,
  route: Route.Route,
  leadOf: (series: Compared) => Route.Route | undefined
): ReadonlyArray<Child> => [
  controls(all, route),
  all.length === 0
    ? undefined
    : all.some((series) => isShown(series, route.filter ?? ""))
    ? part(Grid, { all, route, leadOf }, "grid")
    : empty("No metric passes the filter.")
]
