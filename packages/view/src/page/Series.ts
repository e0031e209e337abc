/** Points of a curve, and the scales that put them on a picture. */
import { svg } from "./Svg.ts"
import * as Text from "./Text.ts"

export interface Point {
  readonly iteration: number
  readonly value: number
  readonly low: number
  readonly high: number
}

export interface Size {
  readonly width: number
  readonly height: number
  readonly left: number
  readonly right: number
  readonly top: number
  readonly bottom: number
}

export interface Scales {
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

/** Scales for the points, at least from 0 to 1. */
export const scales = (points: ReadonlyArray<Point>, size: Size): Scales => {
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

export const axes = ({ last, ticks, x, y }: Scales, size: Size) => [
  ...ticks.flatMap((tick) => [
    svg("line", { class: "grid", x1: size.left, x2: size.width - size.right, y1: y(tick), y2: y(tick) }),
    svg("text", { class: "tick", x: size.left - 6, y: y(tick) + 4, "text-anchor": "end" }, Text.short(tick))
  ]),
  ...[...new Set([0, Math.round(last / 2), last])].map((tick) =>
    svg("text", { class: "tick", x: x(tick), y: size.height - 8, "text-anchor": "middle" }, String(tick))
  )
]

/** Points that a picture of some hundred pixels can show: neighbours are joined to their mean, lowest and highest value. */
export const thinned = (points: ReadonlyArray<Point>, most = 400): ReadonlyArray<Point> => {
  if (points.length <= most) return points
  const each = Math.ceil(points.length / most)
  return Array.from({ length: Math.ceil(points.length / each) }, (_, index) => {
    const part = points.slice(index * each, (index + 1) * each)
    return {
      iteration: part[Math.floor(part.length / 2)]?.iteration ?? 0,
      value: part.reduce((sum, { value }) => sum + value, 0) / part.length,
      low: part.reduce((low, point) => Math.min(low, point.low), Infinity),
      high: part.reduce((high, point) => Math.max(high, point.high), -Infinity)
    }
  })
}

const at = ({ x, y }: Scales, iteration: number, value: number) => `${x(iteration).toFixed(1)},${y(value).toFixed(1)}`

export const line = (points: ReadonlyArray<Point>, scales: Scales) =>
  points.map(({ iteration, value }) => at(scales, iteration, value)).join(" ")

/** The outline of the range around the points. */
export const band = (points: ReadonlyArray<Point>, scales: Scales) =>
  [
    ...points.map(({ high, iteration }) => at(scales, iteration, high)),
    ...points.toReversed().map(({ iteration, low }) => at(scales, iteration, low))
  ].join(" ")
