/** Filters a run's rollouts for a list. */
import type { GroupResult } from "@effect-rl/core/program"
import { type Recorded, Story } from "@effect-rl/core/records"
import * as Flag from "effect/cli/Flag"
import * as Option from "effect/Option"
import * as RolloutId from "./RolloutId.ts"

export const flags = {
  iteration: Flag.Int("iteration").pipe(
    Flag.withDescription(
      "Only rollouts of this iteration, counted from 1; with an evaluator, of its evaluation after this many iterations"
    ),
    Flag.optional
  ),
  evaluator: Flag.String("evaluator").pipe(
    Flag.withMetavar("name"),
    Flag.withDescription("Rollouts of this evaluator in place of those that were trained on"),
    Flag.optional
  ),
  tag: Flag.String("tag").pipe(Flag.withDescription("Only groups with this tag"), Flag.optional),
  stopReason: Flag.String("stop-reason").pipe(
    Flag.withDescription("Only rollouts that ended for this reason"),
    Flag.optional
  ),
  minReward: Flag.Finite("min-reward").pipe(Flag.withDescription("Only rewards of at least this"), Flag.optional),
  maxReward: Flag.Finite("max-reward").pipe(Flag.withDescription("Only rewards of at most this"), Flag.optional),
  limit: Flag.Int("limit").pipe(
    Flag.filter((limit) => limit > 0, () => "a whole number of at least 1"),
    Flag.withDescription("How many of the newest rollouts are listed (default: 20)"),
    Flag.withDefault(20)
  )
}

/** The iteration of a group, counted from 1; for an evaluation, the number of iterations before it. */
export const numberOf = ({ evaluator, iteration }: Pick<Recorded.Group, "evaluator" | "iteration">) =>
  evaluator === undefined ? iteration + 1 : iteration

export interface Filter {
  readonly iteration: Option.Option<number>
  readonly evaluator: Option.Option<string>
  readonly tag: Option.Option<string>
  readonly stopReason: Option.Option<string>
  readonly minReward: Option.Option<number>
  readonly maxReward: Option.Option<number>
  readonly limit: number
}

/** A rollout as a line of the list, from its group's record. */
export interface Line {
  readonly id: string
  readonly iteration: number
  readonly evaluator: string | null
  readonly group: string
  readonly member: number
  readonly reward: number
  /** The rollout's advantage; null if no update used the rollout. */
  readonly advantage: number | null
  readonly turns: number
  readonly tokens: number
  readonly stopReason: string | null
}

const holds = <A>(wanted: Option.Option<A>, test: (wanted: A) => boolean) =>
  Option.match(wanted, { onNone: () => true, onSome: test })

const isWanted = (filter: Filter) => (record: Recorded.Group) =>
  (record.evaluator ?? "") === Option.getOrElse(filter.evaluator, () => "")
  && holds(filter.iteration, (number) => numberOf(record) === number)
  && holds(filter.tag, (tag) => record.tags.includes(tag))

const isIn = (filter: Filter) => ({ reward, stopReason }: Line) =>
  holds(filter.minReward, (least) => reward >= least)
  && holds(filter.maxReward, (most) => reward <= most)
  && holds(filter.stopReason, (wanted) => stopReason === wanted)

const linesOf = (story: Story.Story) => (record: Recorded.Group): ReadonlyArray<Line> =>
  record.members.flatMap((summary, member) => {
    if (summary === null) return []
    const { evaluator = null, key, sequence } = record
    return [{
      id: RolloutId.format({ sequence, member }),
      iteration: numberOf(record),
      evaluator,
      group: key,
      member,
      reward: record.rewards[member] ?? NaN,
      advantage: Story.advantages(story, record)[member] ?? null,
      turns: summary.turns,
      tokens: summary.sampled,
      stopReason: summary.stopReason
    }]
  })

/**
 * The rollouts that match the filter, oldest first. If there are more than the filter's limit, only the newest are
 * returned.
 */
export const select = (
  story: Story.Story,
  filter: Filter
): { readonly found: number; readonly lines: ReadonlyArray<Line> } => {
  const groups = story.records.filter((record) => record._tag === "GroupRolledOut").filter(isWanted(filter))
  const lines = groups.flatMap(linesOf(story)).filter(isIn(filter))
  return { found: lines.length, lines: lines.slice(-filter.limit) }
}

/** The group's member; undefined if it was dropped or does not exist. */
export const memberOf = (result: GroupResult.GroupResult, member: number) =>
  result._tag === "Skipped" ? undefined : Option.getOrUndefined(result.members[member] ?? Option.none())
