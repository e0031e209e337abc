/** Draws small learning curves side by side, each with its control, as an SVG document. */
import * as Axis from "@effect-rl/core/report/Axis"
import * as Svg from "@effect-rl/core/report/Svg"
import * as Report from "../Report.ts"

/** The curves of all seeds, with one value per iteration. */
type Curves = ReadonlyArray<ReadonlyArray<number>>

export interface Panel {
  readonly title: string
  readonly measured: Curves
  readonly control: Curves
}

export interface Labels {
  readonly title: string
  /** The quantity that the curves show, as text. */
  readonly value: string
  /** The name of the control. */
  readonly control: string
  /** Lower end of the value axis; smaller values are drawn at that end. */
  readonly least?: number
}

const color = { text: "#1f2933", muted: "#5f6c7b", grid: "#e4e8ee", measured: "#1f5fa8", control: "#9a8a78" }
const width = 800
const [left, right, top] = [56, 12, 92]
const [gap, head, foot] = [16, 22, 30]
const plotHeight = 104

/** Mean, minimum and maximum over the seeds, for each iteration. */
const band = (curves: Curves) =>
  Array.from({ length: Math.max(0, ...curves.map(({ length }) => length)) }, (_, iteration) => {
    const values = curves.flatMap((curve) => curve[iteration] ?? []).filter(Number.isFinite)
    return { iteration, mean: Report.mean(values), least: Math.min(...values), greatest: Math.max(...values) }
  }).filter((point) => Number.isFinite(point.mean))

interface Place {
  readonly x: (iteration: number) => number
  readonly y: (value: number) => number
}

const curve = (place: Place, curves: Curves, stroke: string) => {
  const points = band(curves)
  const line = (at: (point: (typeof points)[number]) => number, order = points) =>
    order.map((point) => `${Svg.number(place.x(point.iteration))},${Svg.number(place.y(at(point)))}`).join(" ")
  const edges = `${line(({ greatest }) => greatest)} ${line(({ least }) => least, points.toReversed())}`
  return points.length === 0 ? [] : [
    Svg.element("polygon", { points: edges, fill: stroke, "fill-opacity": "0.22" }),
    Svg.element("polyline", {
      points: line((point) => point.mean),
      fill: "none",
      stroke,
      "stroke-width": "2",
      "stroke-linejoin": "round"
    })
  ]
}

const legend = ({ control, value }: Labels, seeds: number) =>
  [
    { y: 50, name: `${value}: mean of ${seeds} seeds, from least to greatest`, stroke: color.measured },
    { y: 70, name: `control: ${control}`, stroke: color.control }
  ].flatMap(({ name, stroke, y }) => [
    Svg.element("line", { x1: left, x2: left + 16, y1: y - 4, y2: y - 4, stroke, "stroke-width": "4" }),
    Svg.text(left + 22, y, name, { fill: color.muted })
  ])

const valuesOf = ({ control, measured }: Panel) => [...measured, ...control].flat().filter(Number.isFinite)

interface Axes {
  readonly values: Axis.Axis
  readonly iterations: Axis.Axis
}

const axesOf = (panels: ReadonlyArray<Panel>, least = -Infinity): Axes => {
  const lengths = panels.flatMap(({ control, measured }) => [...measured, ...control]).map(({ length }) => length)
  return {
    values: Axis.ofValues(panels.flatMap(valuesOf).map((value) => Math.max(value, least)), 6),
    iterations: Axis.ofIterations(0, Math.max(...lengths) - 1, 4)
  }
}

interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
}

/** Grid lines across the panel, labelled in the first panel of a row, and the iterations below it. */
const scale = ({ iterations, values }: Axes, place: Place, { width, x, y }: Box) => [
  ...values.ticks.flatMap((tick) => [
    Svg.element("line", { x1: x, x2: x + width, y1: place.y(tick), y2: place.y(tick), stroke: color.grid }),
    ...(x > left
      ? []
      : [Svg.text(x - 8, place.y(tick) + 4, values.label(tick), { fill: color.muted, "text-anchor": "end" })])
  ]),
  ...iterations.ticks.map((tick) =>
    Svg.text(place.x(tick), y + plotHeight + 16, iterations.label(tick), {
      fill: color.muted,
      "text-anchor": tick === 0 ? "start" : tick === iterations.high ? "end" : "middle"
    })
  )
]

const panelIn = (axes: Axes, box: Box, { control, measured, title }: Panel) => {
  const place: Place = {
    x: (iteration) => box.x + Axis.place(axes.iterations, iteration) * box.width,
    y: (value) => box.y + (1 - Axis.place(axes.values, Math.max(value, axes.values.low))) * plotHeight
  }
  return [
    Svg.text(box.x, box.y - 8, title, { fill: color.text, "font-weight": "bold" }),
    ...scale(axes, place, box),
    ...curve(place, control, color.control),
    ...curve(place, measured, color.measured)
  ]
}

/** An SVG document that is 800 pixels wide. All panels have the same axes. */
export const draw = (labels: Labels, panels: ReadonlyArray<Panel>): string => {
  const columns = Math.min(4, panels.length)
  const rows = Math.ceil(panels.length / columns)
  const panelWidth = (width - left - right - (columns - 1) * gap) / columns
  const axes = axesOf(panels, labels.least)
  const boxOf = (index: number): Box => ({
    x: left + (index % columns) * (panelWidth + gap),
    y: top + Math.floor(index / columns) * (head + plotHeight + foot) + head,
    width: panelWidth
  })
  return Svg.document({ width, height: top + rows * (head + plotHeight + foot) + 6 }, labels.title, [
    Svg.text(left, 28, labels.title, { fill: color.text, "font-size": "16", "font-weight": "bold" }),
    ...legend(labels, Math.max(...panels.map(({ measured }) => measured.length))),
    ...panels.flatMap((panel, index) => panelIn(axes, boxOf(index), panel))
  ])
}
