/** Points of a curve, and scales that map them to a picture. */
import * as Statistics from "@effect-rl/core/records/Statistics"
import { svg } from "./Svg.ts"
import * as Text from "./Text.ts"
import type { Part } from "./Zoom.ts"

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
  /** The iteration at a horizontal position. */
  readonly iterationAt: (x: number) => number
  /** Values at which the axis has labels. */
  readonly values: ReadonlyArray<number>
  readonly iterations: ReadonlyArray<number>
}

export interface Options {
  readonly part: Part
  readonly isLog: boolean
  /** Values that the axis must include. */
  readonly least: ReadonlyArray<number>
}

const niceStep = (span: number) => {
  const rough = span / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  return power * ([1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) ?? 10)
}

const multiples = (from: number, to: number, step: number) => {
  const first = Math.ceil(from / step - 1e-9)
  return Array.from({ length: Math.floor(to / step + 1e-9) - first + 1 }, (_, index) => (first + index) * step)
}

/** The range of an axis, and its labels. */
interface Axis {
  readonly low: number
  readonly high: number
  readonly names: ReadonlyArray<number>
}

const linearAxis = (low: number, high: number): Axis => {
  const step = niceStep(high > low ? high - low : Math.abs(low) || 1)
  // Values slightly beyond a label do not extend the axis by a whole step.
  const fine = step / 5
  const [bottom, top] = [Math.floor(low / fine) * fine, Math.ceil(high / fine) * fine]
  const widened = top > bottom ? top : bottom + step
  return { low: bottom, high: widened, names: multiples(bottom, widened, step) }
}

const mostNames = 6

/** An axis in powers of ten. */
const logAxis = (low: number, high: number): Axis => {
  const [bottom, top] = high > low
    ? [Math.log10(low), Math.log10(high)]
    : [Math.log10(low) - 0.5, Math.log10(low) + 0.5]
  const powers = Array.from({ length: Math.ceil(top) - Math.floor(bottom) + 1 }, (_, at) => Math.floor(bottom) + at)
  const inside = (value: number) => Math.log10(value) >= bottom - 1e-9 && Math.log10(value) <= top + 1e-9
  const fine = powers.flatMap((power) => [1, 2, 5].map((factor) => factor * 10 ** power)).filter(inside)
  const coarse = powers.map((power) => 10 ** power).filter(inside)
  const every = Math.ceil(coarse.length / mostNames)
  return {
    low: bottom,
    high: top,
    names: fine.length <= mostNames ? fine : coarse.filter((_, at) => at % every === 0)
  }
}

const valueAxis = (points: ReadonlyArray<Point>, { isLog, least }: Options): Axis => {
  const [from, to] = [Math.min(...least), Math.max(...least)]
  // A band is cut at limits that the values themselves do not cross, such as 0 and 1 for rewards.
  const isInside = points.every(({ value }) => value >= from && value <= to)
  let [low, high] = [from, to]
  for (const point of points) {
    low = Math.min(low, isLog || isInside ? point.value : point.low)
    high = Math.max(high, isLog || isInside ? point.value : point.high)
  }
  if (low > high) [low, high] = [isLog ? 0.1 : 0, 1]
  return isLog ? logAxis(low, high) : linearAxis(low, high)
}

export const scales = (points: ReadonlyArray<Point>, size: Size, options: Options): Scales => {
  const { isLog, part: { from, to } } = options
  const { high, low, names } = valueAxis(points, options)
  const { height, left, right, top, width } = size
  const [across, up] = [width - left - right, height - top - size.bottom]
  const share = (value: number) => {
    const place = isLog ? Math.log10(value) : value
    return Math.min(1, Math.max(0, ((Number.isNaN(place) ? low : place) - low) / (high - low)))
  }
  return {
    x: (iteration) => left + ((iteration - from) / (to - from)) * across,
    y: (value) => height - size.bottom - share(value) * up,
    iterationAt: (x) => from + ((x - left) / across) * (to - from),
    values: names,
    iterations: multiples(from, to, Math.max(1, niceStep(to - from)))
  }
}

export const axes = ({ iterations, values, x, y }: Scales, size: Size) => [
  ...values.flatMap((value) => [
    svg("line", { class: "grid", x1: size.left, x2: size.width - size.right, y1: y(value), y2: y(value) }),
    svg("text", { class: "tick", x: size.left - 6, y: y(value) + 4, "text-anchor": "end" }, Text.short(value))
  ]),
  ...iterations.map((iteration) =>
    svg("text", { class: "tick", x: x(iteration), y: size.height - 30, "text-anchor": "middle" }, String(iteration))
  ),
  svg("text", { class: "tick", x: size.left, y: size.height - 6 }, "iteration")
]

/** The points in the visible part of the run that the scale can show. */
export const inside = (points: ReadonlyArray<Point>, { isLog, part: { from, to } }: Options): ReadonlyArray<Point> =>
  points.filter(({ iteration, value }) => iteration >= from && iteration <= to && (!isLog || value > 0))

/** Each point's mean with the points before it, over at most `over` points. */
export const smoothed = (points: ReadonlyArray<Point>, over: number): ReadonlyArray<Point> => {
  let sum = 0
  return points.map(({ iteration, value }, at) => {
    sum += value - (points[at - over]?.value ?? 0)
    const mean = sum / Math.min(at + 1, over)
    return { iteration, value: mean, low: mean, high: mean }
  })
}

/** The points thinned to at most `most`: neighbours are merged into their mean, minimum and maximum. */
export const thinned = (points: ReadonlyArray<Point>, most = 400): ReadonlyArray<Point> => {
  if (points.length <= most) return points
  const each = Math.ceil(points.length / most)
  return Array.from({ length: Math.ceil(points.length / each) }, (_, index) => {
    const part = points.slice(index * each, (index + 1) * each)
    return {
      iteration: part[Math.floor(part.length / 2)]?.iteration ?? 0,
      value: Statistics.mean(part.map(({ value }) => value)),
      low: part.reduce((low, point) => Math.min(low, point.low), Infinity),
      high: part.reduce((high, point) => Math.max(high, point.high), -Infinity)
    }
  })
}

/** The point nearest to the iteration; `points` must be sorted. */
export const nearest = (points: ReadonlyArray<Point>, iteration: number): Point | undefined => {
  let [low, high] = [0, points.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((points[middle]?.iteration ?? 0) < iteration) low = middle + 1
    else high = middle
  }
  const [before, after] = [points[low - 1], points[low]]
  if (before === undefined || after === undefined) return after ?? before
  return iteration - before.iteration < after.iteration - iteration ? before : after
}

const at = ({ x, y }: Scales, iteration: number, value: number) => `${x(iteration).toFixed(1)},${y(value).toFixed(1)}`

export const line = (points: ReadonlyArray<Point>, scales: Scales) =>
  points.map(({ iteration, value }) => at(scales, iteration, value)).join(" ")

/** The outline of the band around the points. */
export const band = (points: ReadonlyArray<Point>, scales: Scales) =>
  [
    ...points.map(({ high, iteration }) => at(scales, iteration, high)),
    ...points.toReversed().map(({ iteration, low }) => at(scales, iteration, low))
  ].join(" ")
