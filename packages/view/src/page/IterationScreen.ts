/** The groups of one iteration or evaluation, with a dot for each member by its reward. */
import type * as Entry from "../story/Entry.ts"
import { advantages, counts, type Verdict, verdict, verdicts } from "../story/GroupVerdict.ts"
import * as Story from "../story/Story.ts"
import { h, panel, svg, table } from "./Dom.ts"
import { allMetrics } from "./Health.ts"
import type { Route } from "./Route.ts"
import { type Choice, choosable, type Data, link, type Screen } from "./Screen.ts"
import { names } from "./SignalChart.ts"
import * as Text from "./Text.ts"

const strip = { width: 220, height: 22, margin: 8 }

/** Lowest and highest reward, at least from 0 to 1. */
const range = (groups: ReadonlyArray<Entry.Group>) => {
  let [low, high] = [0, 1]
  for (const { rewards } of groups) {
    for (const reward of rewards) {
      if (reward === null) continue
      low = Math.min(low, reward)
      high = Math.max(high, reward)
    }
  }
  return [low, high] as const
}

/** Members with one reward stand side by side. */
const dots = (rewards: ReadonlyArray<number | null>, [low, high]: readonly [number, number]) => {
  const seen = new Map<number, number>()
  return rewards.map((reward, member) => {
    if (reward === null) return undefined
    const before = seen.get(reward) ?? 0
    seen.set(reward, before + 1)
    const x = strip.margin + ((reward - low) / (high - low)) * (strip.width - 12 * strip.margin)
    return svg(
      "circle",
      { class: reward >= 0.5 ? "good" : "bad", cx: x + before * 10, cy: strip.height / 2, r: 4 },
      svg("title", {}, `member ${member}: reward ${Text.short(reward)}`)
    )
  })
}

const dotStrip = (group: Entry.Group, extent: readonly [number, number]) =>
  svg(
    "svg",
    {
      class: "dots",
      viewBox: `0 0 ${strip.width} ${strip.height}`,
      role: "img",
      "aria-label": `rewards of ${group.key}`
    },
    svg("line", { class: "grid", x1: 0, x2: strip.width, y1: strip.height / 2, y2: strip.height / 2 }),
    ...dots(group.rewards, extent)
  )

const choiceOf = (route: Route, { sequence }: Entry.Group): Choice => ({
  select: { ...route, group: sequence },
  open: { ...route, at: "group", group: sequence }
})

const mean = (rewards: ReadonlyArray<number | null>) => {
  const known = rewards.filter((reward) => reward !== null)
  return known.reduce((sum, reward) => sum + reward, 0) / known.length
}

const row = (group: Entry.Group, extent: readonly [number, number], route: Route) =>
  choosable(
    h(
      "tr",
      {},
      h("td", {}, Text.foreign(group.key)),
      h("td", {}, dotStrip(group, extent)),
      h("td", { class: "number" }, Text.fixed(mean(group.rewards))),
      h("td", {}, h("span", { class: `key key-${verdict(group)}` }, names[verdict(group)])),
      h("td", { class: "number" }, Text.count(group.members.reduce((sum, member) => sum + (member?.sampled ?? 0), 0))),
      h("td", {}, group.failures.length === 0 ? "" : Text.plural(group.failures.length, "failure")),
      h("td", {}, Text.foreign(group.tags.join(", ")))
    ),
    choiceOf(route, group),
    group.sequence === route.group
  )

const headings = ["group", "a dot per member, by reward", "mean", "signal", "tokens sampled", "failures", "tags"]

const filters = (groups: ReadonlyArray<Entry.Group>, route: Route) => {
  const found = counts(groups)
  const option = (show: Verdict | undefined, text: string) => {
    const chosen = link({ ...route, show, group: undefined }, text)
    if (route.show === show) chosen.setAttribute("aria-current", "true")
    return chosen
  }
  return h(
    "nav",
    { class: "filters", "aria-label": "filter" },
    option(undefined, `all ${groups.length}`),
    ...verdicts.filter((verdict) => found[verdict] > 0).map((verdict) =>
      option(verdict, `${names[verdict]} ${found[verdict]}`)
    )
  )
}

/** Rows before and after the selected one that are shown. */
const around = 100

const groupPanel = (groups: ReadonlyArray<Entry.Group>, shown: ReadonlyArray<Entry.Group>, route: Route) => {
  const extent = range(groups)
  const selected = Math.max(0, shown.findIndex(({ sequence }) => sequence === route.group))
  const from = Math.max(0, Math.min(selected - around, shown.length - 2 * around))
  const part = shown.slice(from, from + 2 * around)
  const title = part.length === shown.length
    ? Text.plural(shown.length, "group")
    : `${part.length} of ${shown.length} groups`
  return panel(
    title,
    filters(groups, route),
    groups.length === 0
      ? h("p", { class: "empty" }, "No group is rolled out yet.")
      : table(headings, part.map((group) => row(group, extent, route)), "groups")
  )
}

const scoreText = ({ evaluated }: Story.Evaluation) => {
  const score = evaluated?.score
  if (score === undefined) return `reward ${Text.fixed(evaluated?.reward?.mean)}`
  return `${Text.percent(score.value)} correct, 95 % interval ${Text.percent(score.low)} to ${Text.percent(score.high)}`
}

const placeOf = ({ route, story }: Data) => {
  const { evaluator, iteration = 0 } = route
  if (evaluator !== undefined) {
    const found = Story.evaluation(story, evaluator, iteration)
    const metrics = found.evaluated?.metrics
    return {
      groups: found.groups,
      metrics,
      title: `${evaluator} before iteration ${iteration}`,
      summary: scoreText(found)
    }
  }
  const { groups, updated } = Story.iteration(story, iteration)
  const reward = updated?.reward
  const summary = updated === undefined
    ? "not done yet"
    : `reward ${Text.fixed(reward?.mean)} ± ${Text.fixed(reward?.standardError)}, ${
      Text.plural(updated.updates.length, "update")
    }`
  return { groups, metrics: updated?.metrics, title: `Iteration ${iteration}`, summary }
}

export const render = (data: Data): Screen => {
  const { route } = data
  const { groups, metrics, summary, title } = placeOf(data)
  const shown = groups.filter((group) => route.show === undefined || verdict(group) === route.show)
  return {
    title,
    body: [
      h("p", { class: "summary" }, summary),
      groupPanel(groups, shown, route),
      ...(metrics === undefined ? [] : [panel("Metrics", allMetrics(metrics))])
    ],
    choices: shown.map((group) => choiceOf(route, group)),
    selected: shown.findIndex(({ sequence }) => sequence === route.group)
  }
}

/** The record of the route's group, with the advantages of its members. */
export const groupOf = ({ route, story }: Data) => {
  const { evaluator, iteration = 0 } = route
  const place = evaluator === undefined
    ? Story.iteration(story, iteration)
    : Story.evaluation(story, evaluator, iteration)
  const group = place.groups.find(({ sequence }) => sequence === route.group)
  const credit = group === undefined || !("index" in place) ? [] : advantages(place, group.key)
  return { group, advantages: credit }
}
