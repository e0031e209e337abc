/** Lanes of what the run did when, and what holds it up. */
import * as Story from "@effect-rl/core/story/Story"
import * as Timeline from "../story/Timeline.ts"
import { type Child, empty, h, panel } from "./Dom.ts"
import type * as Route from "./Route.ts"
import { go } from "./Screen.ts"
import { picture, svg } from "./Svg.ts"
import * as Text from "./Text.ts"

/** Iterations that are shown: the newest, or those around the selected one. */
const shown = 12

const size = { width: 760, left: 102, lane: 26 }

const laneNames: ReadonlyArray<Timeline.LaneName> = ["sampling", "training", "evaluation"]

const scale = ({ from, to }: Timeline.Timeline) => (at: number) =>
  size.left + ((at - from) / (to - from)) * (size.width - size.left)

const span = (lane: Timeline.LaneName, at: number, x: (at: number) => number, route: Route.Route) =>
(
  { evaluator, from, iteration, to }: Timeline.Span
) =>
  svg(
    "rect",
    {
      key: `${lane} ${evaluator ?? ""} ${iteration}`,
      class: `span span-${lane}`,
      x: x(from),
      y: at * size.lane + 5,
      width: Math.max(1, x(to) - x(from) - 1),
      height: size.lane - 10,
      onClick: () => go({ ...route, at: "iteration", iteration, evaluator })
    },
    svg(
      "title",
      {},
      `${evaluator === undefined ? `${lane}, ${Text.iteration(iteration)}` : Text.measured(evaluator, iteration)}: ${
        Text.duration(to - from)
      }`
    )
  )

const label = (name: string, at: number) =>
  svg("text", { class: "lane", x: 0, y: at * size.lane + size.lane / 2 + 5 }, name)

/** A lane whose height shows how many activities of a kind are under way. */
interface Flow {
  readonly name: string
  readonly shade: string
  readonly counts: ReadonlyArray<number>
  readonly meaning: string
}

/** A wait has a lane from this share of the members' time on. */
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

const flowLane = ({ counts, meaning, name, shade }: Flow, at: number) => {
  const most = Math.max(1, ...counts)
  const width = (size.width - size.left) / counts.length
  const height = size.lane - 8
  const steps = counts.map((count, index) => {
    const y = at * size.lane + 4 + height * (1 - count / most)
    return `${(size.left + index * width).toFixed(1)},${y.toFixed(1)} ${(size.left + (index + 1) * width).toFixed(1)},${
      y.toFixed(1)
    }`
  })
  const bottom = at * size.lane + 4 + height
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

/** Times since the beginning of the run, below the lanes. */
const axis = ({ from, to }: Timeline.Timeline, began: number, y: number) =>
  [0, 0.25, 0.5, 0.75, 1].map((share) =>
    svg(
      "text",
      {
        class: "when",
        x: size.left + share * (size.width - size.left),
        y,
        "text-anchor": share === 0 ? "start" : share === 1 ? "end" : "middle"
      },
      Text.duration(from + share * (to - from) - began)
    )
  )

const draw = (timeline: Timeline.Timeline, whole: Timeline.Timeline, route: Route.Route): Child => {
  const x = scale(timeline)
  const lanes = laneNames.filter((lane) => timeline.lanes[lane].length > 0)
  const flows = flowsOf(timeline)
  const bottom = (lanes.length + flows.length) * size.lane
  return h(
    "figure",
    {},
    picture(
      `When the run sampled, trained and evaluated, over ${Text.duration(timeline.to - timeline.from)}`,
      size.width,
      bottom + size.lane,
      { class: "timeline" },
      ...flows.map(flowLane),
      ...axis(timeline, whole.from, bottom + size.lane - 8),
      ...lanes.flatMap((lane, index) => {
        const at = flows.length + index
        return [label(lane, at), ...timeline.lanes[lane].map(span(lane, at, x, route))]
      })
    ),
    h(
      "figcaption",
      {},
      ...lanes.map((lane) => h("span", { class: `key key-${lane}` }, `${lane} ${Text.percent(whole.shares[lane])}`)),
      h("span", {}, `of ${Text.duration(whole.to - whole.from)} in all`)
    )
  )
}

const waitingText = ({ waiting }: Timeline.Timeline) =>
  waiting === undefined
    ? "This run did not record the time of environments and judges separately: it is part of sampling."
    : `While they are sampled, members wait for the policy ${
      Text.percent(waiting.policy.share)
    } of the time, for their environments ${Text.percent(waiting.environments.share)}, for their rewards ${
      Text.percent(waiting.judges.share)
    }.`

/** The evaluations between the iterations that are shown, and those before the first and after the newest iteration of the run. */
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

/** Timelines of whole runs, made again only where a record has arrived: drawing repeats more often. */
const wholes = new WeakMap<
  Story.Story<null>,
  { readonly records: number; readonly timeline: Timeline.Timeline | undefined }
>()

const wholeOf = (story: Story.Story<null>, all: ReadonlyArray<Story.Iteration<null>>) => {
  const before = wholes.get(story)
  if (before?.records === story.records.length) return before.timeline
  const timeline = Timeline.make(all, Story.evaluations(story), story.pauses)
  wholes.set(story, { records: story.records.length, timeline })
  return timeline
}

/** Lanes of the newest iterations, or of those around the selected one; shares and the bottleneck are those of the whole run. */
export const panelOf = (story: Story.Story<null>, route: Route.Route): Child => {
  const all = Story.iterations(story)
  const selected = all.findIndex(({ index }) => index === route.iteration)
  const end = selected < 0 ? all.length : Math.min(all.length, Math.max(shown, selected + shown / 2))
  const begin = Math.max(0, end - shown)
  const part = all.slice(begin, end)
  const [first, last] = [part[0]?.index ?? 0, part.at(-1)?.index ?? 0]
  const timeline = Timeline.make(part, evaluationsOf(story, all, begin, end), story.pauses)
  const whole = part.length === all.length ? timeline : wholeOf(story, all)
  if (timeline === undefined || whole === undefined) return panel("Time", empty("No iteration is done yet."))
  return panel(
    part.length === all.length ? "Time" : `Time, iterations ${first + 1} to ${last + 1}`,
    draw(timeline, whole, route),
    h("p", { class: "verdict" }, Timeline.bottleneck(whole)),
    h("p", { class: "facts" }, waitingText(whole))
  )
}
