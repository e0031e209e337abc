/** A lane per member that shows when it sampled, ran in its environment and was graded. */
import * as Quantity from "@effect-rl/core/report/Quantity"
import type * as Entry from "../story/Entry.ts"
import { type Child, h, panel } from "./Dom.ts"
import { svg } from "./Svg.ts"

interface Span {
  readonly lane: number
  readonly kind: "sampling" | "environment" | "grading"
  readonly from: number
  readonly to: number
  readonly title: string
}

const names = { sampling: "policy", environment: "environment", grading: "rewards" } as const

const turnSpans = (member: Entry.MemberView, lane: number): ReadonlyArray<Span> =>
  member.turns.flatMap(({ times }, turn) => {
    if (times === null) return []
    const { began, environment, sampling } = times
    const span = (kind: "sampling" | "environment", from: number, milliseconds: number): Span => ({
      lane,
      kind,
      from,
      to: from + milliseconds,
      title: `turn ${turn}, ${names[kind]}: ${Quantity.duration(milliseconds)}`
    })
    return [span("sampling", began, sampling), span("environment", began + sampling, environment)]
  })

const gradingSpan = ({ grading }: Entry.GroupView, lane: number): ReadonlyArray<Span> =>
  grading === null ? [] : [{
    lane,
    kind: "grading",
    from: grading.began,
    to: grading.began + grading.milliseconds,
    title: `rewards: ${Quantity.duration(grading.milliseconds)}`
  }]

/** The length of a lane in SVG units. */
const length = 1000

const bar = (lane: number, spans: ReadonlyArray<Span>, x: (at: number) => number) =>
  h(
    "svg",
    { viewBox: `0 0 ${length} 10`, preserveAspectRatio: "none" },
    ...spans.filter((span) => span.lane === lane).map(({ from, kind, title, to }) =>
      svg(
        "rect",
        { class: `span-${kind}`, x: x(from), y: 0, width: Math.max(1, x(to) - x(from)), height: 10 },
        svg("title", {}, title)
      )
    )
  )

const draw = (spans: ReadonlyArray<Span>, labels: ReadonlyArray<string>): Child => {
  const from = Math.min(...spans.map(({ from }) => from))
  const to = Math.max(...spans.map(({ to }) => to))
  const x = (at: number) => ((at - from) / (to - from)) * length
  const label = `When members waited for the policy, their environments and their rewards, over ${
    Quantity.duration(to - from)
  }`
  return h(
    "figure",
    {},
    h(
      "div",
      { class: "turn-lanes", role: "img", "aria-label": label },
      ...labels.flatMap((label, lane) => [h("span", {}, label), bar(lane, spans, x)])
    ),
    h(
      "figcaption",
      {},
      ...(["sampling", "environment", "grading"] as const).map((kind) =>
        h("span", { class: `key key-${kind}` }, names[kind])
      ),
      h("span", {}, `${Quantity.duration(to - from)} in all`)
    )
  )
}

/** The lanes of the members with these indices; nothing if the run did not time their turns. */
export const panelOf = (view: Entry.GroupView, members: ReadonlyArray<number>): Child => {
  const known = members.flatMap((index) => {
    const member = view.members[index]
    return member === null || member === undefined ? [] : [{ index, member }]
  })
  const played = known.flatMap(({ member }, lane) => turnSpans(member, lane))
  if (played.length === 0) return undefined
  const spans = [...played, ...known.flatMap((_, lane) => gradingSpan(view, lane))]
  return panel("Time", draw(spans, known.map(({ index }) => `member ${index}`)))
}
