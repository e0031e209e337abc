/** All rollouts of the run in one table with sorting and filters. */
import * as Quantity from "@effect-rl/core/report/Quantity"
import * as Sorted from "../story/Sorted.ts"
import { cell, type Child, dotted, empty, h, numberCell, panel, sortableTable } from "./Dom.ts"
import * as FilterFields from "./FilterFields.ts"
import * as RolloutRows from "./RolloutRows.ts"
import * as Route from "./Route.ts"
import { type Choice, choosable, type Data, link, type Screen, waiting } from "./Screen.ts"
import * as Sorting from "./Sorting.ts"
import * as Text from "./Text.ts"

type Row = RolloutRows.RolloutRow

/** Number of rows shown at first, and added with each step. */
const step = 100

const choiceOf = (route: Route.Route, { group: { evaluator, iteration, sequence }, member }: Row): Choice => ({
  select: { ...route, group: sequence, member },
  open: { at: "member", run: route.run, evaluator, iteration, group: sequence, member }
})

const placeOf = ({ group: { evaluator, iteration } }: Row) =>
  evaluator === undefined ? Text.iteration(iteration) : Text.measured(evaluator, iteration)

const columnsOf = (metric: string | undefined): ReadonlyArray<Sorted.Column<Row>> => [
  { key: "rollout", title: "rollout", value: ({ group: { key }, member }) => `${key} ${member}` },
  { key: "at", title: "of", value: ({ group: { sequence } }) => sequence },
  { key: "reward", title: "reward", value: ({ reward }) => reward, isNumber: true },
  { key: "advantage", title: "advantage", value: ({ advantage }) => advantage, isNumber: true },
  { key: "tokens", title: "tokens", value: ({ tokens }) => tokens, isNumber: true },
  { key: "turns", title: "turns", value: ({ turns }) => turns, isNumber: true },
  ...(metric === undefined
    ? []
    : [{
      key: "measure",
      title: Text.foreign(metric),
      value: ({ measure }: Row) => measure,
      isNumber: true
    }]),
  { key: "stop", title: "ended by", value: ({ stop }) => stop },
  { key: "training", title: "training", value: ({ training }) => training },
  { key: "stale", title: "staleness", value: ({ staleness }) => staleness, isNumber: true },
  { key: "tags", title: "tags", value: ({ group: { tags } }) => tags.join(", ") }
]

const whole = (value: number | null) => value === null ? "–" : String(value)

const row = (one: Row, route: Route.Route) => {
  const { advantage, group, measure, member, reward, staleness, stop, tokens, training, turns } = one
  const choice = choiceOf(route, one)
  return choosable(
    "tr",
    choice,
    route.group === group.sequence && route.member === member,
    cell(link(choice.open, `${Text.foreign(group.key)}, member ${member}`)),
    h("td", { class: "short" }, Text.foreign(placeOf(one))),
    numberCell(Text.short(reward)),
    numberCell(Text.signed(advantage)),
    numberCell(whole(tokens)),
    numberCell(whole(turns)),
    route.metric === undefined ? undefined : numberCell(Text.short(measure)),
    cell(stop === null ? "dropped" : Text.foreign(stop)),
    cell(training),
    numberCell(whole(staleness)),
    cell(Text.foreign(group.tags.join(", ")))
  )
}

/** Chooses the transcript measure that has its own column. */
const measureField = ({ measures, route }: Data): Child => {
  const names = measures?.names ?? (route.metric === undefined ? [] : [route.metric])
  return FilterFields.select("measure", route.metric, names, (metric) => ({
    ...route,
    metric,
    above: undefined,
    sort: metric === undefined ? undefined : "-measure"
  }))
}

const distinct = (values: Iterable<string | null>) => [...new Set(values)].filter((value) => value !== null)

const valuesIn = (rows: ReadonlyArray<Row>) => ({
  evaluators: distinct(rows.map(({ group: { evaluator = null } }) => evaluator)),
  stops: distinct(rows.map(({ stop }) => stop)),
  tags: distinct(rows.flatMap(({ group: { tags } }) => tags)),
  trainings: distinct(rows.map(({ training }) => training)),
  hasStaleness: rows.some(({ staleness }) => staleness !== null)
})

/** The values of a run's rows, among which filters choose. They are found once, because drawing is far more frequent than changes. */
const known = new WeakMap<ReadonlyArray<Row>, ReturnType<typeof valuesIn>>()

const valuesOf = (rows: ReadonlyArray<Row>) => {
  const values = known.get(rows) ?? valuesIn(rows)
  known.set(rows, values)
  return values
}

const filters = (data: Data, rows: ReadonlyArray<Row>): Child => {
  const { route } = data
  const { above, high, least, low, most, source, stale, stop, tag, training } = route
  const { evaluators, hasStaleness, stops, tags, trainings } = valuesOf(rows)
  return h(
    "nav",
    { class: "filters", "aria-label": "filter" },
    FilterFields.select(
      "rollouts of",
      source,
      [RolloutRows.trainingOnly, ...evaluators],
      (source) => ({ ...route, source })
    ),
    FilterFields.select("ended by", stop, stops, (stop) => ({ ...route, stop })),
    FilterFields.select(
      "tag",
      tag,
      tags,
      (tag) => ({ ...route, tag })
    ),
    FilterFields.select(
      "training",
      training,
      trainings,
      (training) => ({ ...route, training })
    ),
    FilterFields.limit("reward from", low, (low) => ({ ...route, low })),
    FilterFields.limit("to", high, (high) => ({ ...route, high })),
    FilterFields.limit("tokens from", least, (least) => ({ ...route, least })),
    FilterFields.limit("to", most, (most) => ({ ...route, most })),
    hasStaleness
      ? FilterFields.limit("staleness from", stale, (stale) => ({ ...route, stale }))
      : undefined,
    measureField(data),
    route.metric === undefined
      ? undefined
      : FilterFields.limit(`${Text.foreign(route.metric)} from`, above, (above) => ({ ...route, above })),
    link({ at: "rollouts", run: route.run, sort: route.sort }, "clear")
  )
}

/** The mean reward of the rollouts with a tag, and their number. */
interface TagMean {
  readonly tag: string
  readonly mean: number
  readonly rollouts: number
}

/** The tags of the rollouts, the lowest mean reward first. */
const tagMeans = (rows: ReadonlyArray<Row>): ReadonlyArray<TagMean> => {
  const sums = new Map<string, { sum: number; rollouts: number }>()
  for (const { group: { tags }, reward } of rows) {
    if (reward === null) continue
    for (const tag of tags) {
      const found = sums.get(tag) ?? { sum: 0, rollouts: 0 }
      sums.set(tag, { sum: found.sum + reward, rollouts: found.rollouts + 1 })
    }
  }
  return [...sums].map(([tag, { rollouts, sum }]) => ({ tag, mean: sum / rollouts, rollouts }))
    .toSorted((left, right) => left.mean - right.mean)
}

/** Most tags whose means are shown. */
const mostTags = 20

const tagLine = (means: ReadonlyArray<TagMean>): Child =>
  means.length === 0 ? undefined : h(
    "p",
    { class: "facts" },
    "Mean reward by tag: ",
    ...dotted(
      means.slice(0, mostTags).map(({ mean, rollouts, tag }) =>
        `${Text.foreign(tag)} ${Text.short(mean)} of ${Quantity.plural(rollouts, "rollout")}`
      )
    ),
    means.length > mostTags ? `, and ${means.length - mostTags} tags with higher means` : ""
  )

interface Passing {
  /** The number of rows that match. */
  readonly count: number
  /** The first of them, as many as the address requests. */
  readonly shown: ReadonlyArray<Row>
  readonly means: ReadonlyArray<TagMean>
}

/** The rows that match. They are cached, so a hundred thousand rows are not searched again for every key press. */
let last: { readonly rows: ReadonlyArray<Row>; readonly key: string; readonly passing: Passing } | undefined

const passingOf = (rows: ReadonlyArray<Row>, route: Route.Route): Passing => {
  const key = Route.format({ ...route, group: undefined, member: undefined })
  if (last?.rows === rows && last.key === key) return last.passing
  const matching = rows.filter((row) => RolloutRows.isShown(row, route))
  const passing = {
    count: matching.length,
    shown: Sorted.first(matching, columnsOf(route.metric), route.sort, route.count ?? step),
    means: tagMeans(matching)
  }
  last = { rows, key, passing }
  return passing
}

const note = ({ measures, route }: Data): Child => {
  if (measures === undefined) return h("p", { class: "facts", role: "status" }, "Reading the measures of transcripts …")
  const unread = measures.unread === 0 ? "" : ` ${Quantity.plural(measures.unread, "group")} cannot be read.`
  return route.metric === undefined && unread === "" ? undefined : h(
    "p",
    { class: "facts" },
    route.metric === undefined
      ? ""
      : route.metric === "surprise"
      ? "Surprise is the mean of −log p of the sampled tokens, in nats."
      : "A metric is summed over the turns; a yes-or-no metric is the number of turns in which it holds.",
    unread
  )
}

export const render = (data: Data): Screen => {
  const { measures, route, story } = data
  if (story === undefined) return waiting("Rollouts", "Reading the records …")
  const rows = RolloutRows.of(story, measures, route.metric)
  const { count, means, shown } = passingOf(rows, route)
  const columns = columnsOf(route.metric)
  return {
    title: "Rollouts",
    body: [
      panel(
        count === rows.length
          ? Quantity.plural(rows.length, "rollout")
          : `${count} of ${rows.length} rollouts`,
        filters(data, rows),
        note(data),
        tagLine(means),
        shown.length === 0
          ? empty(rows.length === 0 ? "No group is rolled out yet." : "No rollout passes the filter.")
          : sortableTable(Sorting.heads(columns, route), shown.map((one) => row(one, route)), "rollouts"),
        shown.length < count
          ? h("p", {}, link({ ...route, count: shown.length + step }, `${step} more`))
          : undefined
      )
    ],
    choices: shown.map((one) => choiceOf(route, one)),
    selected: shown.findIndex(({ group, member }) => group.sequence === route.group && member === route.member)
  }
}
