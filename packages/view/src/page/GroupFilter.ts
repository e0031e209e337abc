/** Filters an iteration's groups. */
import * as Story from "@effect-rl/core/story/Story"
import { verdict, verdicts, verdictsOf } from "@effect-rl/core/story/Story"
import type * as Entry from "../story/Entry.ts"
import { type Child, h } from "./Dom.ts"
import * as FilterFields from "./FilterFields.ts"
import * as Route from "./Route.ts"
import { link } from "./Screen.ts"
import { names } from "./SignalChart.ts"

const tokensOf = (group: Entry.Group) => group.members.flatMap((member) => member === null ? [] : [member.sampled ?? 0])

const isBetween = (value: number | null, low: number | undefined, high: number | undefined) =>
  value !== null && (low === undefined || value >= low) && (high === undefined || value <= high)

/** Labels for what updates did with groups. */
export const trainings: Readonly<Record<Story.GroupCredit<null>["verdict"], string>> = {
  informative: "trained on",
  constant: "no signal",
  skipped: "given up",
  quarantined: "quarantined",
  filtered: "filtered",
  stale: "too old"
}

/** What the update did with the group, as a label. */
export const training = (story: Story.Story<null>, group: Entry.Group): string => {
  const credit = Story.credit(story, group)
  return credit === undefined ? "–" : trainings[credit.verdict]
}

/** Whether the group matches all filters of the route. */
export const isShown = (group: Entry.Group, story: Story.Story<null>, route: Route.Route): boolean => {
  const { high, least, low, most, outcome, show, stop, tag } = route
  if (route.training !== undefined && training(story, group) !== route.training) return false
  if (show !== undefined && verdict(group) !== show) return false
  if (tag !== undefined && !group.tags.includes(tag)) return false
  if (outcome !== undefined && group.outcome !== outcome) return false
  if (stop !== undefined && !group.members.some((member) => member?.stopReason === stop)) return false
  if ((low ?? high) !== undefined && !group.rewards.some((reward) => isBetween(reward, low, high))) return false
  return (least ?? most) === undefined || tokensOf(group).some((tokens) => isBetween(tokens, least, most))
}

const verdictLinks = (groups: ReadonlyArray<Entry.Group>, route: Route.Route) => {
  const found = verdictsOf(groups)
  return [
    link({ ...route, show: undefined, group: undefined }, `all ${groups.length}`, route.show === undefined),
    ...verdicts.filter((verdict) => found[verdict] > 0).map((verdict) =>
      link({ ...route, show: verdict, group: undefined }, `${names[verdict]} ${found[verdict]}`, route.show === verdict)
    )
  ]
}

export const draw = (groups: ReadonlyArray<Entry.Group>, story: Story.Story<null>, route: Route.Route): Child => {
  const stops = groups.flatMap(({ members }) => members.flatMap((member) => member?.stopReason ?? []))
  return h(
    "nav",
    { class: "filters", "aria-label": "filter" },
    ...verdictLinks(groups, route),
    FilterFields.select("tag", route.tag, groups.flatMap(({ tags }) => tags), (tag) => ({ ...route, tag })),
    FilterFields.select(
      "outcome",
      route.outcome,
      groups.map(({ outcome }) => outcome),
      (outcome) => ({ ...route, outcome })
    ),
    FilterFields.select(
      "training",
      route.training,
      groups.map((group) => training(story, group)),
      (training) => ({ ...route, training })
    ),
    FilterFields.select("stopped by", route.stop, stops, (stop) => ({ ...route, stop })),
    FilterFields.limit("tokens from", route.least, (least) => ({ ...route, least })),
    FilterFields.limit("to", route.most, (most) => ({ ...route, most })),
    link(Route.unfiltered(route), "clear")
  )
}
