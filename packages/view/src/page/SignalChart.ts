/** Shares of informative, all-good, all-bad and skipped groups. Each column shows one iteration, or several consecutive ones. */
import * as Quantity from "@effect-rl/core/report/Quantity"
import {
  type Iteration,
  iterations,
  noGroups,
  type Story,
  type Tally,
  type Verdict,
  verdicts
} from "@effect-rl/core/story/Story"
import { type Child, empty, h } from "./Dom.ts"
import * as MetricChart from "./MetricChart.ts"
import type * as Route from "./Route.ts"
import { go } from "./Screen.ts"
import type * as Series from "./Series.ts"
import { picture, svg } from "./Svg.ts"
import * as Text from "./Text.ts"
import * as Zoom from "./Zoom.ts"

/** The chart's size. The chart is as wide as the curve above it, because both share an axis. */
const sizeOf = (): Series.Size => ({ ...MetricChart.size(), height: 118, bottom: 8 })

const upOf = ({ bottom, height, top }: Series.Size) => height - top - bottom

export const names: Readonly<Record<Verdict, string>> = {
  informative: "informative",
  good: "all good",
  bad: "all bad",
  skipped: "skipped"
}

interface Column {
  readonly first: number
  readonly last: number
  readonly tally: Tally
}

const mostColumns = 120

const columnsOf = (sampled: ReadonlyArray<Iteration<null>>): ReadonlyArray<Column> => {
  const each = Math.ceil(sampled.length / mostColumns)
  return Array.from({ length: Math.ceil(sampled.length / each) }, (_, index) => {
    const part = sampled.slice(index * each, (index + 1) * each)
    const tally = noGroups()
    for (const iteration of part) for (const verdict of verdicts) tally[verdict] += iteration.tally[verdict]
    return { first: part[0]?.index ?? 0, last: part.at(-1)?.index ?? 0, tally }
  })
}

export const total = (tally: Tally) => verdicts.reduce((sum, verdict) => sum + tally[verdict], 0)

const column = ({ first, last, tally }: Column, x: number, width: number, size: Series.Size, route: Route.Route) => {
  const [all, up] = [total(tally), upOf(size)]
  const text = verdicts.map((verdict) => `${Quantity.percent(tally[verdict] / all)} ${names[verdict]}`).join(", ")
  let top = 0
  const parts = verdicts.filter((verdict) => tally[verdict] > 0).map((verdict) => {
    const height = (tally[verdict] / all) * up
    top += height
    return svg("rect", {
      class: `fill-${verdict}`,
      fill: verdict === "bad" ? "url(#hatched)" : undefined,
      x,
      y: size.top + top - height,
      width,
      height
    })
  })
  const place = first === last ? Text.iteration(first) : `iterations ${first + 1} to ${last + 1}`
  return svg(
    "g",
    {
      key: String(first),
      class: "column",
      onClick: () => go({ ...route, at: "iteration", iteration: last, evaluator: undefined })
    },
    ...parts,
    svg("title", {}, `${place}: ${text}`)
  )
}

const axes = (size: Series.Size) =>
  [0, 0.5, 1].map((share) =>
    svg(
      "text",
      { class: "tick", x: size.left - 6, y: size.top + (1 - share) * upOf(size) + 4, "text-anchor": "end" },
      `${100 * share} %`
    )
  )

/** A hatched pattern for groups of bad answers, so they can be told apart without colours. */
const hatched = () =>
  svg(
    "defs",
    {},
    svg(
      "pattern",
      { id: "hatched", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      svg("rect", { class: "hatched-ground", width: 5, height: 5 }),
      svg("line", { class: "hatched-line", x1: 0, x2: 0, y1: 0, y2: 5 })
    )
  )

export const draw = (story: Story<null>, route: Route.Route): Child => {
  const all = iterations(story).filter(({ groups }) => groups.length > 0)
  if (all.length === 0) return empty("No group is rolled out yet.")
  const { from, to } = Zoom.part(route, Math.max((all.at(-1)?.index ?? 0) + 1, MetricChart.planned(story)))
  const sampled = all.filter(({ index }) => index >= from && index + 1 <= to)
  const size = sizeOf()
  const x = (iterations: number) =>
    size.left + ((iterations - from) / (to - from)) * (size.width - size.left - size.right)
  const gap = x(1) - x(0) > 4 ? 2 : 0
  return h(
    "figure",
    {},
    picture(
      "Shares of groups by what their rewards teach",
      size.width,
      size.height,
      { class: "shares" },
      hatched(),
      ...axes(size),
      ...columnsOf(sampled).map((part) =>
        column(part, x(part.first), x(part.last + 1) - x(part.first) - gap, size, route)
      )
    ),
    h("figcaption", {}, ...verdicts.map((verdict) => h("span", { class: `key key-${verdict}` }, names[verdict])))
  )
}
