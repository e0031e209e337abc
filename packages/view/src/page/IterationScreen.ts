/** The groups of one iteration or evaluation, with their members' rewards on one axis. */
import * as Statistics from "@effect-rl/core/records/Statistics"
import * as Diagnosis from "@effect-rl/core/report/Diagnosis"
import * as Quantity from "@effect-rl/core/report/Quantity"
import * as Story from "@effect-rl/core/story/Story"
import { verdict } from "@effect-rl/core/story/Story"
import * as Changes from "../story/Changes.ts"
import type * as Entry from "../story/Entry.ts"
import { cell, type Child, columns, empty, h, numberCell, panel, table } from "./Dom.ts"
import * as GroupFilter from "./GroupFilter.ts"
import { allMetrics } from "./Health.ts"
import * as RegradePanel from "./RegradePanel.ts"
import * as RewardHistogram from "./RewardHistogram.ts"
import * as RewardStrip from "./RewardStrip.ts"
import type { Route } from "./Route.ts"
import { type Choice, choosable, type Data, link, type Screen, waiting } from "./Screen.ts"
import { names } from "./SignalChart.ts"
import * as Text from "./Text.ts"

const choiceOf = (route: Route, { sequence }: Entry.Group): Choice => ({
  select: { ...route, group: sequence },
  open: { ...route, at: "group", group: sequence, member: undefined }
})

const mean = (rewards: ReadonlyArray<number | null>) => Statistics.mean(rewards.filter((reward) => reward !== null))

const row = (group: Entry.Group, extent: RewardStrip.Extent, story: Story.Story<null>, route: Route) => {
  const choice = choiceOf(route, group)
  return choosable(
    "tr",
    choice,
    group.sequence === route.group,
    cell(link(choice.open, Text.foreign(group.key))),
    cell(RewardStrip.draw(group, extent)),
    numberCell(Quantity.fixed(mean(group.rewards))),
    cell(h("span", { class: `key key-${verdict(group)}` }, names[verdict(group)])),
    cell(GroupFilter.training(story, group)),
    numberCell(Quantity.count(group.members.reduce((sum, member) => sum + (member?.sampled ?? 0), 0))),
    numberCell(Quantity.duration(group.milliseconds)),
    cell(group.failures.length === 0 ? "" : Quantity.plural(group.failures.length, "failure")),
    cell(Text.foreign(group.tags.join(", ")))
  )
}

const headings = ([low, high]: RewardStrip.Extent) => [
  "group",
  `members by reward, from ${Text.short(low)} to ${Text.short(high)}`,
  "mean",
  "signal",
  "training",
  "tokens",
  "time",
  "failures",
  "tags"
]

/** Number of rows shown before and after the selected row. */
const around = 50

const groupPanel = (
  groups: ReadonlyArray<Entry.Group>,
  shown: ReadonlyArray<Entry.Group>,
  story: Story.Story<null>,
  route: Route
): Child => {
  const extent = RewardStrip.extent(groups)
  const selected = Math.max(0, shown.findIndex(({ sequence }) => sequence === route.group))
  const from = Math.max(0, Math.min(selected - around, shown.length - 2 * around))
  const part = shown.slice(from, from + 2 * around)
  const title = part.length === groups.length
    ? Quantity.plural(groups.length, "group")
    : `${part.length} of ${groups.length} groups`
  return panel(
    title,
    GroupFilter.draw(groups, story, route),
    groups.length === 0
      ? empty("No group is rolled out yet.")
      : shown.length === 0
      ? empty("No group passes the filter.")
      : table(headings(extent), part.map((group) => row(group, extent, story, route)), "groups")
  )
}

const readingText = (reading: Diagnosis.Reading) => `${reading.metric} ${Diagnosis.value(reading.value, reading.unit)}`

const scoreText = ({ evaluated }: Story.Evaluation<null>) => {
  const score = evaluated?.score
  const reading = evaluated === undefined ? undefined : Diagnosis.reading(evaluated)
  if (reading?.unit === "nats") {
    return `${readingText(reading)}${score === undefined ? "" : `, ${Quantity.percent(score.value)} correct`}`
  }
  if (score === undefined) {
    const interval = Text.rewardInterval(evaluated?.reward)
    return `reward ${Quantity.fixed(evaluated?.reward?.mean)}${interval === "" ? "" : `, 95 % interval ${interval}`}`
  }
  return `${Quantity.percent(score.value)} correct, 95 % interval ${Quantity.percent(score.low)} to ${
    Quantity.percent(score.high)
  }`
}

/** The main training metric, and the reward if there is one. */
const updateText = (story: Story.Story<null>, { metrics, reward }: Entry.Updated): ReadonlyArray<string> => {
  const name = Diagnosis.training(story)?.name
  return [
    ...(name === undefined || name === "reward" ? [] : [`${name} ${Text.short(metrics[name])}`]),
    ...(reward === undefined ? [] : [`reward ${Quantity.fixed(reward.mean)} ± ${Quantity.fixed(reward.standardError)}`])
  ]
}

const placeOf = (story: Story.Story<null>, { evaluator, iteration = 0 }: Route) => {
  if (evaluator !== undefined) {
    const found = Story.evaluation(story, evaluator, iteration)
    return {
      groups: found.groups,
      metrics: found.evaluated?.metrics,
      title: Text.measured(evaluator, iteration),
      summary: scoreText(found)
    }
  }
  const { updated } = Story.iteration(story, iteration)
  const summary = updated === undefined
    ? "not done yet"
    : [...updateText(story, updated), Quantity.plural(updated.updates.length, "update")].join(", ")
  return {
    groups: Story.groupsOf(story, iteration),
    metrics: updated?.metrics,
    title: `Iteration ${iteration + 1}`,
    summary
  }
}

/** Links to the previous and next iterations, in the order of the arrow keys. */
const neighbours = (story: Story.Story<null>, route: Route): Child => {
  const { evaluator, iteration = 0 } = route
  const places = evaluator === undefined
    ? Story.iterations(story).map(({ index }) => index)
    : Story.evaluations(story).filter((one) => one.evaluator === evaluator).map(({ iteration }) => iteration)
  const at = places.indexOf(iteration)
  const step = (to: number | undefined, text: string) =>
    to === undefined ? h("span", { class: "empty" }, text) : link({ ...route, iteration: to, group: undefined }, text)
  return h(
    "nav",
    { class: "steps", "aria-label": "iterations" },
    step(places[at - 1], "← p"),
    step(places[at + 1], "n →")
  )
}

const signed = (value: number) => `${value > 0 ? "+" : ""}${Text.short(value)}`

const changed = ({ before, now }: Changes.Change) => {
  const share = before === 0 ? undefined : (now - before) / Math.abs(before)
  return share === undefined || Math.abs(share) >= 10
    ? signed(now - before)
    : `${signed(now - before)} (${share > 0 ? "+" : ""}${Quantity.percent(share)})`
}

/** Metrics that changed since the previous iteration, largest change first. */
const changePanel = (story: Story.Story<null>, { evaluator, iteration = 0, run }: Route): Child => {
  const [before, { updated }] = [Story.iteration(story, iteration - 1).updated, Story.iteration(story, iteration)]
  if (evaluator !== undefined || before === undefined || updated === undefined) return undefined
  const values = ({ metrics, reward }: Entry.Updated) => ({ ...metrics, reward: reward?.mean ?? null })
  const changes = Changes.of(values(before), values(updated))
  const title = `Changes since iteration ${iteration}`
  return panel(
    title,
    changes.length === 0 ? empty("No metric of rewards, lengths, endings or the update changed.") : table(
      ["metric", `iteration ${iteration}`, `iteration ${iteration + 1}`, "change"],
      changes.map((change) => {
        const { before, name, now } = change
        const metric = name === "reward" ? undefined : name
        return h(
          "tr",
          { key: name },
          cell(link({ at: "run", run, iteration, metric }, Text.foreign(name))),
          numberCell(Text.short(before)),
          numberCell(Text.short(now)),
          numberCell(changed(change))
        )
      }),
      title
    )
  )
}

export const render = (data: Data): Screen => {
  const { route, story } = data
  if (story === undefined) return waiting(`Iteration ${(route.iteration ?? 0) + 1}`, "Reading the records …")
  const { groups, metrics, summary, title } = placeOf(story, route)
  const shown = groups.filter((group) => GroupFilter.isShown(group, story, route))
  return {
    title,
    body: [
      h("div", { class: "summary" }, h("p", {}, summary), neighbours(story, route)),
      changePanel(story, route),
      // Programs that train on examples, and their evaluators, roll out no groups.
      ...(groups.length === 0 && metrics !== undefined ? [] : [
        columns(
          panel("Members by reward", RewardHistogram.draw(groups, route)),
          RegradePanel.panelOf(data, story)
        ),
        groupPanel(groups, shown, story, route)
      ]),
      metrics === undefined ? undefined : panel("Metrics", allMetrics(metrics, route))
    ],
    choices: shown.map((group) => choiceOf(route, group)),
    selected: shown.findIndex(({ sequence }) => sequence === route.group)
  }
}
