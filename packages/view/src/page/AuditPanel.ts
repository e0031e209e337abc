/** The findings of a transcript audit. */
import type { Findings } from "../story/Entry.ts"
import { type Child, empty, h, panel } from "./Dom.ts"
import type { Route } from "./Route.ts"
import { link } from "./Screen.ts"
import * as Text from "./Text.ts"

const mostShown = 50

const item = (
  { check, detail, group, iteration, members: [member] }: Findings["findings"][number],
  route: Route
): Child => {
  const place: Route = group === undefined
    ? { ...route, at: "iteration", iteration, evaluator: undefined }
    : member === undefined
    ? { ...route, at: "group", iteration, evaluator: undefined, group: group.sequence }
    : { ...route, at: "member", iteration, evaluator: undefined, group: group.sequence, member }
  const name = group === undefined ? Text.iteration(iteration) : `${Text.iteration(iteration)}, ${group.key}`
  return h("li", {}, link(place, Text.foreign(name)), ` ${check.replaceAll("_", " ")}: ${Text.foreign(detail)}`)
}

export const panelOf = (findings: Findings | undefined, route: Route): Child => {
  if (findings === undefined) return panel("Audit", empty("Reading the transcripts …"))
  const { all, findings: found } = findings
  const title = all > mostShown ? `Audit, ${mostShown} of ${all} findings` : "Audit"
  return panel(
    title,
    found.length === 0 ? empty("Nothing suspicious was found.") : h(
      "ul",
      { class: "notices", tabindex: 0, "aria-label": "findings of the audit" },
      ...found.slice(0, mostShown).map((finding) => item(finding, route))
    )
  )
}
