/**
 * Curves over a run's iterations, numbered from 1. The pointer shows an iteration's values, a click opens the iteration, and dragging zooms
 * to a part of the run.
 */
import { useMemo, useRef, useState } from "preact/hooks"
import { type Child, h, part } from "./Dom.ts"
import * as EventMarks from "./EventMarks.ts"
import type { Route } from "./Route.ts"
import { go } from "./Screen.ts"
import * as Series from "./Series.ts"
import { picture, svg } from "./Svg.ts"
import * as Zoom from "./Zoom.ts"

export interface Curve {
  /** The CSS class that colours the curve. */
  readonly shade: string
  /** The curve's points, sorted by iteration. */
  readonly points: ReadonlyArray<Series.Point>
}

export interface Props {
  readonly label: string
  readonly size: Series.Size
  readonly curves: ReadonlyArray<Curve>
  /** Points with their own marks. */
  readonly marked: ReadonlyArray<Series.Point>
  readonly marks: (scales: Series.Scales, options: Series.Options) => ReadonlyArray<Child>
  /** Values that the axis always includes while the whole run is shown. */
  readonly least: ReadonlyArray<number>
  /** Returns the text for an iteration. */
  readonly read: (iteration: number) => string
  readonly open?: (number: number) => void
  readonly legend: ReadonlyArray<Child>
  /** Events to mark on the axis. */
  readonly events?: ReadonlyArray<EventMarks.Mark>
  /** Number of planned iterations. The axis includes them before they are done. */
  readonly planned?: number
  readonly route: Route
}

const optionsOf = ({ curves, least, marked, planned = 1, route }: Props): Series.Options => {
  const last = Math.max(
    planned,
    ...[...curves.map(({ points }) => points), marked].map((points) => points.at(-1)?.iteration ?? 0)
  )
  const isLog = route.log === true
  return { part: Zoom.part(route, last), isLog, least: isLog || !Zoom.isWhole(route) ? [] : least }
}

/** A curve with its band or, if it is smoothed, with the smooth curve on top. */
const curveShapes = ({ points, shade }: Curve, scales: Series.Scales, options: Series.Options, over = 1) => {
  const shown = Series.thinned(Series.inside(points, options))
  const line = (kind: string, points: ReadonlyArray<Series.Point>) =>
    svg("polyline", { class: `${kind} ${shade}`, points: Series.line(points, scales) })
  return over > 1
    ? [line("curve rough", shown), line("curve", Series.thinned(Series.inside(Series.smoothed(points, over), options)))]
    : [svg("polygon", { class: `band ${shade}`, points: Series.band(shown, scales) }), line("curve", shown)]
}

/** The drawing without the parts that follow the pointer, which moves more often than records arrive. */
const drawingOf = (props: Props) => {
  const { curves, events = [], marked, marks, route, size } = props
  const options = optionsOf(props)
  const visible = curves.map(({ points }) => Series.inside(points, options))
  const measured = Series.inside(marked, options)
  const scales = Series.scales([...visible.flat(), ...measured], size, options)
  const shapes = [
    ...Series.axes(scales, size),
    ...curves.flatMap((curve) => curveShapes(curve, scales, options, route.smooth)),
    ...marks(scales, options),
    ...EventMarks.draw(events, scales, options, size.height - size.bottom)
  ]
  const all = curves.flatMap(({ points }) => Series.inside(points, { ...options, isLog: false }))
  return { scales, visible, measured, shapes, hidden: all.length - visible.flat().length }
}

const hiddenText = (count: number) =>
  count === 1
    ? "1 value is not above 0: a log scale cannot show it"
    : `${count} values are not above 0: a log scale cannot show them`

const nearestOf = (curves: ReadonlyArray<ReadonlyArray<Series.Point>>, iteration: number): number | undefined => {
  const found = curves.flatMap((points) => Series.nearest(points, iteration)?.iteration ?? [])
  return found.toSorted((left, right) => Math.abs(left - iteration) - Math.abs(right - iteration))[0]
}

/** Maximum pixels between press and release for a click. */
const still = 5

interface Press {
  readonly began: number
  readonly iteration: number
}

const View = (props: Props) => {
  const { curves, events = [], label, legend, open, read, route, size } = props
  const [pointed, point] = useState<number>()
  const [dragged, drag] = useState<readonly [from: number, to: number]>()
  const press = useRef<Press | undefined>(undefined)
  const wasDragged = useRef(false)
  const { hidden, measured, scales, shapes, visible } = useMemo(() => drawingOf(props), [curves])
  const { x, y } = scales

  const iterationAt = (event: Event) => {
    if (!(event instanceof MouseEvent) || !(event.currentTarget instanceof Element)) return 0
    const { left, width } = event.currentTarget.getBoundingClientRect()
    return scales.iterationAt(((event.clientX - left) / width) * size.width)
  }
  const handlers = {
    onPointerDown: (event: Event) => {
      wasDragged.current = false
      if (event instanceof PointerEvent && event.button === 0) {
        press.current = { began: event.clientX, iteration: iterationAt(event) }
      }
    },
    onPointerMove: (event: Event) => {
      if (!(event instanceof PointerEvent) || !(event.currentTarget instanceof Element)) return
      const iteration = iterationAt(event)
      point(nearestOf(visible, iteration))
      const { current } = press
      if (current === undefined || Math.abs(event.clientX - current.began) < still) return
      wasDragged.current = true
      event.currentTarget.setPointerCapture(event.pointerId)
      drag([current.iteration, iteration])
    },
    onPointerUp: () => {
      press.current = undefined
      drag(undefined)
      if (dragged !== undefined) go(Zoom.between(route, ...dragged))
    },
    onPointerCancel: () => {
      press.current = undefined
      drag(undefined)
    },
    onPointerLeave: () => point(undefined),
    onClick: (event: Event) => {
      const iteration = wasDragged.current ? undefined : nearestOf(visible, iterationAt(event))
      if (iteration !== undefined) open?.(iteration)
    }
  }

  const told = pointed ?? nearestOf([...visible, measured], (route.iteration ?? Number.MAX_SAFE_INTEGER) + 1)
  return h(
    "figure",
    {},
    picture(
      label,
      size.width,
      size.height,
      { class: open === undefined ? "plot" : "plot opens", ...handlers },
      ...shapes,
      dragged === undefined ? undefined : svg("rect", {
        class: "dragged",
        x: Math.min(...dragged.map(x)),
        width: Math.abs(x(dragged[1]) - x(dragged[0])),
        y: size.top,
        height: size.height - size.top - size.bottom
      }),
      pointed === undefined ? undefined : svg("line", {
        class: "pointed",
        x1: x(pointed),
        x2: x(pointed),
        y1: size.top,
        y2: size.height - size.bottom
      }),
      ...(pointed === undefined ? [] : visible.flatMap((points, at) => {
        const near = Series.nearest(points, pointed)
        if (near?.iteration !== pointed) return []
        return [svg("circle", { class: `reading ${curves[at]?.shade}`, cx: x(pointed), cy: y(near.value), r: 5 })]
      }))
    ),
    h(
      "p",
      { class: "told", role: "status" },
      told === undefined
        ? ""
        : `${told === 0 ? "before training" : `iteration ${told}`}: ${
          [read(told), ...EventMarks.reading(events, told)].join("; ")
        }`
    ),
    h(
      "figcaption",
      {},
      ...legend,
      ...EventMarks.legend(events),
      hidden === 0 ? undefined : h("span", {}, hiddenText(hidden))
    )
  )
}

export const draw = (props: Props): Child => part(View, props, `plot ${props.label}`)
