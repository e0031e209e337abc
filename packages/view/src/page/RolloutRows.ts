/** A run's rollouts as rows of one table. */
import * as Story from "@effect-rl/core/story/Story"
import type * as Entry from "../story/Entry.ts"
import type { Measures } from "../story/Measures.ts"
import * as GroupFilter from "./GroupFilter.ts"
import type { Route } from "./Route.ts"

export interface RolloutRow {
  readonly group: Entry.Group
  readonly member: number
  readonly reward: number | null
  readonly advantage: number | null
  readonly tokens: number | null
  readonly turns: number | null
  /** The stop reason; null if the member was dropped. */
  readonly stop: string | null
  readonly training: string
  /** Iterations between the weights with which the rollout began and its update; null if unknown or not credited. */
  readonly staleness: number | null
  /** The chosen measure. */
  readonly measure: number | null
}

const stalenessOf = (credit: Story.GroupCredit<null> | undefined) => {
  const { staleness } = credit ?? {}
  return staleness === undefined ? null : (staleness.inFlight ?? 0) + (staleness.inQueue ?? 0)
}

const rowsOf = (story: Story.Story<null>, group: Entry.Group, at: number, measures: Measures | undefined) => {
  const credit = Story.credit(story, group)
  const training = GroupFilter.training(story, group)
  const staleness = stalenessOf(credit)
  const measured = measures?.groups[group.sequence]
  return group.members.map((member, index): RolloutRow => ({
    group,
    member: index,
    reward: group.rewards[index] ?? null,
    advantage: credit?.advantages[index] ?? null,
    tokens: member?.sampled ?? null,
    turns: member?.turns ?? null,
    stop: member === null ? null : member.stopReason ?? "cut short",
    training,
    staleness,
    measure: at < 0 ? null : measured?.[index]?.[at] ?? null
  }))
}

/** A story's rows, valid for this number of records. */
interface Made {
  readonly records: number
  readonly measures: Measures | undefined
  readonly metric: string | undefined
  readonly rows: ReadonlyArray<RolloutRow>
}

/** The newest rows of each story. They are cached, because drawing is far more frequent than changes. */
const made = new WeakMap<Story.Story<null>, Made>()

/** All rollouts of the run, from training and evaluations, in the order in which their groups ended. */
export const of = (
  story: Story.Story<null>,
  measures: Measures | undefined,
  metric: string | undefined
): ReadonlyArray<RolloutRow> => {
  const before = made.get(story)
  const { records: { length: records } } = story
  if (before?.records === records && before.measures === measures && before.metric === metric) return before.rows
  const at = metric === undefined ? -1 : measures?.names.indexOf(metric) ?? -1
  const rows = story.records.flatMap((record) =>
    record._tag === "GroupRolledOut" ? rowsOf(story, record, at, measures) : []
  )
  made.set(story, { records, measures, metric, rows })
  return rows
}

const isBetween = (value: number | null, low: number | undefined, high: number | undefined) =>
  (low ?? high) === undefined ||
  (value !== null && (low === undefined || value >= low) && (high === undefined || value <= high))

/** The filter value for training groups, instead of an evaluator's name. */
export const trainingOnly = "training"

const isOf = ({ evaluator }: Entry.Group, source: string | undefined) =>
  source === undefined || (evaluator ?? trainingOnly) === source

/** Whether the rollout matches all filters of the route. */
export const isShown = (
  { group, measure, reward, staleness, stop, tokens, training }: RolloutRow,
  { above, high, least, low, most, outcome, source, stale, stop: asked, tag, training: trained }: Route
): boolean =>
  isOf(group, source)
  && (asked === undefined || stop === asked)
  && (tag === undefined || group.tags.includes(tag))
  && (outcome === undefined || group.outcome === outcome)
  && (trained === undefined || training === trained)
  && isBetween(reward, low, high)
  && isBetween(tokens, least, most)
  && isBetween(measure, above, undefined)
  && isBetween(staleness, stale, undefined)
