/** The run's timeline in lanes, and its bottleneck. */
import * as Quantity from "@effect-rl/core/report/Quantity"
import * as Story from "@effect-rl/core/story/Story"
import { useRef, useState } from "preact/hooks"
import * as Timeline from "../story/Timeline.ts"
import { type Child, empty, h, panel, part as partOf } from "./Dom.ts"
import * as MetricChart from "./MetricChart.ts"
import type * as Route from "./Route.ts"
import { go } from "./Screen.ts"
import { picture, svg } from "./Svg.ts"
import * as Text from "./Text.ts"
import * as Zoom from "./Zoom.ts"

const lane = 26

interface Size {
  readonly width: number
  readonly left: number
}

const sizeOf = (): Size => ({ width: MetricChart.size().width, left: 102 })

const laneNames: ReadonlyArray<Timeline.LaneName> = ["sampling", "training", "evaluation"]

interface Shown {
  readonly timeline: Timeline.Timeline
  readonly whole: Timeline.Timeline
  readonly size: Size
  readonly route: Route.Route
}

/** A timeline with its horizontal scale. */
interface Placed {
  readonly size: Size
  readonly timeline: Pick<Timeline.Timeline, "from" | "to">
}

const scale = ({ size, timeline: { from, to } }: Placed) => (at: number) =>
  size.left + ((at - from) / (to - from)) * (size.width - size.left)

/** Spans drawn as one, because the gaps between them are too narrow to show. */
interface Drawn {
  readonly first: Timeline.Span
  readonly last: Timeline.Span
  readonly from: number
  readonly to: number
  readonly milliseconds: number
}

/** Minimum pixels of a span or gap: a narrower span is joined with the previous span if that is equally close. */
const leastPixels = 2

const drawnOf = (spans: ReadonlyArray<Timeline.Span>, x: (at: number) => number): ReadonlyArray<Drawn> => {
  const all: Array<Drawn> = []
  for (const span of spans.toSorted((left, right) => left.from - right.from)) {
    const before = all.at(-1)
    const milliseconds = span.to - span.from
    const isNarrow = x(span.to) - x(span.from) < leastPixels
    if (before !== undefined && isNarrow && x(span.from) - x(before.to) < leastPixels) {
      all[all.length - 1] = {
        ...before,
        last: span,
        to: Math.max(before.to, span.to),
        milliseconds: before.milliseconds + milliseconds
      }
    } else all.push({ first: span, last: span, from: span.from, to: span.to, milliseconds })
  }
  return all
}

const nameOf = (lane: Timeline.LaneName, { first, last }: Drawn) => {
  if (first.iteration !== last.iteration) return `${lane}, iterations ${first.iteration + 1} to ${last.iteration + 1}`
  const { evaluator, iteration } = first
  return evaluator === undefined ? `${lane}, ${Text.iteration(iteration)}` : Text.measured(evaluator, iteration)
}

const rect = (name: Timeline.LaneName, at: number, x: (at: number) => number, route: Route.Route) => (drawn: Drawn) => {
  const { first: { evaluator, iteration }, from, milliseconds, to } = drawn
  const isSelected = evaluator === undefined && iteration === route.iteration
  return svg(
    "rect",
    {
      key: `${name} ${evaluator ?? ""} ${iteration}`,
      class: `span span-${name}${isSelected ? " selected" : ""}`,
      x: x(from),
      y: at * lane + 5,
      width: Math.max(1, x(to) - x(from) - 1),
      height: lane - 10,
      onClick: () => go({ ...route, at: "iteration", iteration, evaluator })
    },
    svg("title", {}, `${nameOf(name, drawn)}: ${Quantity.duration(milliseconds)}`)
  )
}

const label = (name: string, at: number) => svg("text", { class: "lane", x: 0, y: at * lane + lane / 2 + 5 }, name)

/** A lane whose height shows how many activities of a kind run at the same time. */
interface Flow {
  readonly name: string
  readonly shade: string
  readonly counts: ReadonlyArray<number>
  readonly meaning: string
}

/** The share of the members' time from which a kind of waiting has its own lane. */
const leastShown = 0.005

const flowsOf = ({ inFlight, waiting }: Timeline.Timeline): ReadonlyArray<Flow> => {
  const flow = (name: string, wait: Timeline.Waiting | undefined, meaning: string): ReadonlyArray<Flow> =>
    wait === undefined || wait.share < leastShown ? [] : [{ name, shade: name, counts: wait.members, meaning }]
  return [
    { name: "in flight", shade: "in-flight", counts: inFlight, meaning: "groups being rolled out" },
    ...flow("environments", waiting?.environments, "members in their environments"),
    ...flow("judges", waiting?.judges, "members that wait for their rewards")
  ]
}

const flowLane = (size: Size) => ({ counts, meaning, name, shade }: Flow, at: number) => {
  const most = Math.max(1, ...counts)
  const width = (size.width - size.left) / counts.length
  const height = lane - 8
  const steps = counts.map((count, index) => {
    const y = at * lane + 4 + height * (1 - count / most)
    return `${(size.left + index * width).toFixed(1)},${y.toFixed(1)} ${(size.left + (index + 1) * width).toFixed(1)},${
      y.toFixed(1)
    }`
  })
  const bottom = at * lane + 4 + height
  return svg(
    "g",
    { key: name },
    label(name, at),
    svg("polygon", {
      class: `flow-${shade}`,
      points: `${size.left},${bottom} ${steps.join(" ")} ${size.width},${bottom}`
    }),
    svg("title", {}, `${meaning}, at most ${Text.short(most)}`)
  )
}

const seconds = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400]

/** Labels for the time since the run's start, about one per hundred pixels. */
const axis = ({ size, timeline: { from, to }, whole }: Shown, y: number) => {
  const least = (100 * (to - from)) / (size.width - size.left) / 1000
  const step = 1000 * (seconds.find((step) => step >= least) ?? 86_400 * Math.ceil(least / 86_400))
  const first = Math.ceil((from - whole.from) / step)
  const x = scale({ size, timeline: { from, to } })
  return Array.from({ length: Math.floor((to - whole.from) / step) - first + 1 }, (_, index) => {
    const since = (first + index) * step
    const place = x(whole.from + since)
    return [
      svg("line", { class: "grid", x1: place, x2: place, y1: 0, y2: y - 18 }),
      svg(
        "text",
        {
          class: "when",
          x: Math.min(place, size.width - 4),
          y,
          "text-anchor": place > size.width - 30 ? "end" : "middle"
        },
        Quantity.duration(since)
      )
    ]
  }).flat()
}

/** The iterations in progress between two times. */
const iterationsIn = ({ lanes }: Timeline.Timeline, from: number, to: number) => {
  const inside = [...lanes.sampling, ...lanes.training].filter((span) => span.to >= from && span.from <= to)
  const indices = inside.map(({ iteration }) => iteration)
  return indices.length === 0 ? undefined : { first: Math.min(...indices), last: Math.max(...indices) }
}

/** Maximum pixels between press and release for a click. */
const still = 5

const View = (shown: Shown) => {
  const { route, size, timeline, whole } = shown
  const began = useRef<number | undefined>(undefined)
  const [dragged, drag] = useState<readonly [from: number, to: number]>()
  const x = scale(shown)
  const lanes = laneNames.filter((name) => timeline.lanes[name].length > 0)
  const flows = flowsOf(timeline)
  const bottom = (lanes.length + flows.length) * lane
  const placeOf = (event: Event) => {
    if (!(event instanceof MouseEvent) || !(event.currentTarget instanceof Element)) return 0
    const { left, width } = event.currentTarget.getBoundingClientRect()
    return ((event.clientX - left) / width) * size.width
  }
  const timeAt = (place: number) =>
    timeline.from + ((place - size.left) / (size.width - size.left)) * (timeline.to - timeline.from)
  const end = () => {
    began.current = undefined
    drag(undefined)
  }
  return h(
    "figure",
    {},
    picture(
      `When the run sampled, trained and evaluated, over ${Quantity.duration(timeline.to - timeline.from)}`,
      size.width,
      bottom + lane,
      {
        class: "timeline",
        onPointerDown: (event) => {
          began.current = placeOf(event)
        },
        onPointerMove: (event) => {
          const { current } = began
          if (current === undefined || !(event instanceof PointerEvent)) return
          const place = placeOf(event)
          if (dragged === undefined && Math.abs(place - current) < still) return
          if (event.currentTarget instanceof Element) event.currentTarget.setPointerCapture(event.pointerId)
          drag([Math.min(current, place), Math.max(current, place)])
        },
        onPointerUp: () => {
          const part = dragged === undefined
            ? undefined
            : iterationsIn(timeline, timeAt(dragged[0]), timeAt(dragged[1]))
          end()
          if (part !== undefined) go(Zoom.between(route, part.first, part.last + 1))
        },
        onPointerCancel: end
      },
      ...axis(shown, bottom + lane - 6),
      ...flows.map(flowLane(size)),
      ...lanes.flatMap((name, index) => {
        const at = flows.length + index
        return [label(name, at), ...drawnOf(timeline.lanes[name], x).map(rect(name, at, x, route))]
      }),
      dragged === undefined
        ? undefined
        : svg("rect", { class: "dragged", x: dragged[0], width: dragged[1] - dragged[0], y: 0, height: bottom })
    ),
    h(
      "figcaption",
      {},
      ...lanes.map((name) =>
        h("span", { class: `key key-${name}` }, `${name} ${Quantity.percent(whole.shares[name])}`)
      ),
      h("span", {}, `of ${Quantity.duration(whole.to - whole.from)} in all, shared where stages overlap`),
      h("span", {}, "drag to zoom")
    )
  )
}

const waitingText = ({ waiting }: Timeline.Timeline) =>
  waiting === undefined
    ? "This run did not record the time of environments and judges separately: it is part of sampling."
    : `While they are sampled, members wait for the policy ${
      Quantity.percent(waiting.policy.share)
    } of the time, for their environments ${Quantity.percent(waiting.environments.share)}, for their rewards ${
      Quantity.percent(waiting.judges.share)
    }.`

/**
 * The evaluations between the shown iterations, including those before the run's first and after its newest iteration if these are shown.
 */
const evaluationsOf = (
  story: Story.Story<null>,
  all: ReadonlyArray<Story.Iteration<null>>,
  begin: number,
  end: number
) => {
  const [first, last] = [all[begin]?.index ?? 0, all[end - 1]?.index ?? 0]
  return Story.evaluations(story).filter(({ iteration }) =>
    (begin === 0 || iteration > first) && (end === all.length || iteration <= last)
  )
}

/** Timelines of whole runs, recomputed only after a new record, because drawing is more frequent. */
const wholes = new WeakMap<
  Story.Story<null>,
  { readonly records: number; readonly timeline: Timeline.Timeline | undefined }
>()

/** The timeline of the whole run; undefined if nothing has taken time yet. */
export const wholeOf = (story: Story.Story<null>): Timeline.Timeline | undefined => {
  const before = wholes.get(story)
  if (before?.records === story.records.length) return before.timeline
  const timeline = Timeline.make(Story.iterations(story), Story.evaluations(story), story.pauses)
  wholes.set(story, { records: story.records.length, timeline })
  return timeline
}

/**
 * The timeline's lanes for the part of the run that the curves show. Shares and the bottleneck are for the whole run.
 */
export const panelOf = (story: Story.Story<null>, route: Route.Route): Child => {
  const all = Story.iterations(story)
  const { from, to } = Zoom.part(route, (all.at(-1)?.index ?? 0) + 1)
  const [begin, end] = [
    all.findIndex(({ index }) => index + 1 >= Math.max(1, from)),
    all.findLastIndex(({ index }) => index < to) + 1
  ]
  const whole = wholeOf(story)
  const part = Zoom.isWhole(route) || begin < 0
    ? whole
    : Timeline.make(all.slice(begin, end), evaluationsOf(story, all, begin, end), story.pauses)
  const timeline = part ?? whole
  if (timeline === undefined || whole === undefined) return panel("Time", empty("No iteration is done yet."))
  return panel(
    timeline === whole
      ? "Time"
      : `Time, iterations ${(all[begin]?.index ?? 0) + 1} to ${(all[end - 1]?.index ?? 0) + 1}`,
    partOf(View, { timeline, whole, size: sizeOf(), route }, "timeline"),
    h("p", { class: "verdict" }, Timeline.bottleneck(whole)),
    h("p", { class: "facts" }, waitingText(whole))
  )
}
