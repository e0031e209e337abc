/** Which groups of an iteration are shown. */
import * as Story from "@effect-rl/core/story/Story"
import { verdict, verdicts, verdictsOf } from "@effect-rl/core/story/Story"
import type * as Entry from "../story/Entry.ts"
import { type Child, h } from "./Dom.ts"
import * as Route from "./Route.ts"
import { go, link } from "./Screen.ts"
import { names } from "./SignalChart.ts"
import * as Text from "./Text.ts"

const tokensOf = (group: Entry.Group) => group.members.flatMap((member) => member === null ? [] : [member.sampled ?? 0])

const isBetween = (value: number | null, low: number | undefined, high: number | undefined) =>
  value !== null && (low === undefined || value >= low) && (high === undefined || value <= high)

const trainings: Readonly<Record<Story.GroupCredit<null>["verdict"], string>> = {
  informative: "trained on",
  constant: "no signal",
  skipped: "given up",
  quarantined: "quarantined",
  filtered: "filtered",
  stale: "too old"
}

/** The verdict of the update on the group. */
export const training = (story: Story.Story<null>, group: Entry.Group): string => {
  const credit = Story.credit(story, group)
  return credit === undefined ? "–" : trainings[credit.verdict]
}

/** Whether the group has all that the route asks for. */
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

const select = (
  label: string,
  chosen: string | undefined,
  values: Iterable<string>,
  next: (value: string | undefined) => Route.Route
) => {
  const options = [...new Set(values)].toSorted()
  if (options.length < 2 && chosen === undefined) return undefined
  return h(
    "label",
    {},
    `${label} `,
    h(
      "select",
      {
        onChange: ({ target }) => {
          if (target instanceof HTMLSelectElement) go(next(target.value === "" ? undefined : target.value))
        }
      },
      h("option", { value: "", selected: chosen === undefined }, "any"),
      ...options.map((value) => h("option", { value, selected: value === chosen }, Text.foreign(value)))
    )
  )
}

const limit = (label: string, value: number | undefined, next: (value: number | undefined) => Route.Route) =>
  h(
    "label",
    {},
    `${label} `,
    h("input", {
      type: "number",
      min: "0",
      class: "limit",
      key: String(value),
      defaultValue: value ?? "",
      onChange: ({ target }) => {
        if (target instanceof HTMLInputElement) go(next(target.value === "" ? undefined : target.valueAsNumber))
      }
    })
  )

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
    select("tag", route.tag, groups.flatMap(({ tags }) => tags), (tag) => ({ ...route, tag })),
    select("outcome", route.outcome, groups.map(({ outcome }) => outcome), (outcome) => ({ ...route, outcome })),
    select(
      "training",
      route.training,
      groups.map((group) => training(story, group)),
      (training) => ({ ...route, training })
    ),
    select("stopped by", route.stop, stops, (stop) => ({ ...route, stop })),
    limit("tokens from", route.least, (least) => ({ ...route, least })),
    limit("to", route.most, (most) => ({ ...route, most })),
    link(Route.unfiltered(route), "clear")
  )
}
