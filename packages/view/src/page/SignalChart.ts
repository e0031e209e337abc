/** Shares of informative, all good, all bad and skipped groups, a column for each iteration. */
import { counts, type Verdict, verdicts } from "../story/GroupVerdict.ts"
import { type Iteration, iterations, type Story } from "../story/Story.ts"
import { h, svg } from "./Dom.ts"
import * as Route from "./Route.ts"
import * as Text from "./Text.ts"

const size = { width: 760, height: 110 }

export const names: Readonly<Record<Verdict, string>> = {
  informative: "informative",
  good: "all good",
  bad: "all bad",
  skipped: "skipped"
}

const column = ({ groups, index }: Iteration, x: number, width: number, route: Route.Route) => {
  const found = counts(groups)
  const text = verdicts.map((verdict) => `${Text.percent(found[verdict] / groups.length)} ${names[verdict]}`).join(", ")
  let top = 0
  const parts = verdicts.map((verdict) => {
    const height = (found[verdict] / groups.length) * size.height
    top += height
    return svg("rect", { class: `fill-${verdict}`, x, y: top - height, width, height })
  })
  const open = () => {
    location.hash = Route.format({ ...route, at: "iteration", iteration: index, evaluator: undefined })
  }
  return svg("g", { class: "column", click: open }, ...parts, svg("title", {}, `iteration ${index}: ${text}`))
}

export const draw = (story: Story, route: Route.Route): Node => {
  const sampled = iterations(story).filter(({ groups }) => groups.length > 0)
  if (sampled.length === 0) return h("p", { class: "empty" }, "No group is rolled out yet.")
  const slot = size.width / sampled.length
  const gap = slot > 4 ? 2 : 0
  return h(
    "figure",
    {},
    svg(
      "svg",
      {
        viewBox: `0 0 ${size.width} ${size.height}`,
        preserveAspectRatio: "none",
        class: "shares",
        role: "img",
        "aria-label": "Shares of groups"
      },
      ...sampled.map((iteration, index) => column(iteration, index * slot, slot - gap, route))
    ),
    h("figcaption", {}, ...verdicts.map((verdict) => h("span", { class: `key key-${verdict}` }, names[verdict])))
  )
}
