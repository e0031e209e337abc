/**
 * Searches recorded rollouts for signs of reward exploits or degeneration. A finding is a reason to read a transcript, not a proof. An
 * audit changes a run only if its credit uses `quarantine`.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import type * as Credit from "../learn/Credit.ts"
import { traitsOf } from "../learn/credit/FromRewards.ts"
import type { RunError, RunReader } from "../records/RunStore.ts"
import * as GroupResult from "../rollout/GroupResult.ts"
import type * as Recorded from "../story/Recorded.ts"
import * as Rollouts from "../story/Rollouts.ts"
import * as StoryReader from "../story/StoryReader.ts"
import * as GroupChecks from "./audit/GroupChecks.ts"
import type { Suspicion } from "./audit/GroupChecks.ts"
import * as SurfaceCheck from "./audit/SurfaceCheck.ts"
import * as TrendChecks from "./audit/TrendChecks.ts"

export type { Suspicion } from "./audit/GroupChecks.ts"

/** A suspicion, and the iteration or group that it concerns. */
export interface Finding {
  /**
   * The name of the check. For groups: `duplicates`, `grader_disagreement`, `repetition`, `repeated_calls`, `tampering` or `unreadable`;
   * for trends: `length_drift`, `variance_collapse`, `truncation`, `one_answer`, `unused_tools`, `unread_calls`, `dominance`,
   * `unfounded_reward` or `surface_reward`.
   */
  readonly check: string
  readonly detail: string
  readonly iteration: number
  /** The group and its record's sequence number; absent if the finding concerns a whole iteration. */
  readonly group?: { readonly key: string; readonly sequence: number }
  /** Indices of the suspected members; empty if the finding concerns a whole iteration or an unreadable group. */
  readonly members: ReadonlyArray<number>
}

const groupChecks = [
  GroupChecks.duplicates,
  GroupChecks.disagreements,
  GroupChecks.loops,
  GroupChecks.repeatedCalls,
  GroupChecks.tampering
]

/** The suspicions that the group checks raise about a group's members. */
export const group = (result: GroupResult.GroupResult): ReadonlyArray<Suspicion> => {
  const episodes = GroupChecks.episodes(result)
  return groupChecks.flatMap((check) => check(episodes))
}

const unreadable = ({ message }: Rollouts.Damage): Suspicion => ({ check: "unreadable", detail: message, members: [] })

const trendChecks = [
  TrendChecks.lengthDrift,
  TrendChecks.varianceCollapse,
  TrendChecks.truncation,
  TrendChecks.oneAnswer,
  TrendChecks.unusedTools,
  TrendChecks.unreadCalls,
  TrendChecks.dominance,
  TrendChecks.unfoundedReward,
  SurfaceCheck.surfaceReward
]

/** Number of groups that can be audited in about a second. Reports that should be quick skip the audit of longer runs. */
export const mostAtOnce = 2000

/**
 * Audits a run record by record, finished or live: a group when it is recorded, trends when an iteration is done. Evaluation groups are
 * skipped, because they are not trained on. A trend is reported once, when it starts. A group that cannot be read is a finding.
 */
export const make = (
  run: Pick<RunReader, "payload">
): (record: Recorded.Recorded) => Effect.Effect<ReadonlyArray<Finding>> => {
  const checks = trendChecks.map((make) => make())
  let episodes: Array<ReadonlyArray<GroupChecks.Episode>> = []
  const ofGroup = Effect.fnUntraced(function*(record: Recorded.Group) {
    const { iteration, key, sequence } = record
    const read = yield* Effect.result(Rollouts.result(run, record))
    const suspicions = Result.isFailure(read) ? [unreadable(read.failure)] : suspicionsOf(read.success)
    return suspicions.map((suspicion): Finding => ({ ...suspicion, iteration, group: { key, sequence } }))
  })
  const suspicionsOf = (result: GroupResult.GroupResult | undefined) => {
    if (result === undefined) return []
    episodes.push(GroupChecks.episodes(result))
    return group(result)
  }
  const ofIteration = ({ iteration }: Recorded.Updated): ReadonlyArray<Finding> => {
    const groups = episodes
    episodes = []
    return checks.flatMap((check) => check(groups).map((trend) => ({ ...trend, iteration, members: [] })))
  }
  return (record) => {
    switch (record._tag) {
      case "Opened":
        // A resumed run repeats its unfinished iteration.
        return Effect.sync(() => {
          episodes = []
          return []
        })
      case "GroupRolledOut":
        return record.evaluator === undefined ? ofGroup(record) : Effect.succeed([])
      case "Updated":
        return Effect.sync(() => ofIteration(record))
      default:
        return Effect.succeed([])
    }
  }
}

/**
 * All findings of an audit of a recorded run.
 *
 * @example
 * const reader = yield* RunDirectory.open("runs/sums")
 * yield* Stream.runForEach(Audit.run(reader), ({ check, detail, iteration }) => Console.log(iteration, check, detail))
 */
export const run = (reader: RunReader): Stream.Stream<Finding, RunError> =>
  Stream.unwrap(
    Effect.map(StoryReader.read(reader), ({ records }) =>
      Stream.flattenIterable(Stream.mapEffect(Stream.fromIterable(records), make(reader))))
  )

/** The credit of a group that is withheld from training. */
const withheld = (result: GroupResult.GroupResult, suspicions: ReadonlyArray<Suspicion>): Credit.GroupCredit => ({
  result,
  verdict: "quarantined",
  reason: suspicions.map(({ check, detail }) => `${check}: ${detail}`).join("; "),
  advantagesG: new Float32Array(0),
  data: []
})

/**
 * The credit without groups that have a suspected member. These groups stay in the records, with the verdict `quarantined` and the reason;
 * they count in `audit/quarantined` and are not trained on.
 *
 * @example
 * const credit = Audit.quarantine(Credit.groupRelative(Advantage.centered))
 */
export const quarantine = <E, R>(credit: Credit.Credit<E, R>): Credit.Credit<E, R> => ({
  name: "quarantined",
  config: { credit: { name: credit.name, ...credit.config } },
  ...traitsOf(credit),
  assign: Effect.fnUntraced(function*(groups, memory, weights) {
    const suspicions = new Map(groups.map((result) => [GroupResult.idOf(result), group(result)]))
    const isClean = (result: GroupResult.GroupResult) => suspicions.get(GroupResult.idOf(result))?.length === 0
    const assigned = yield* credit.assign(groups.filter(isClean), memory, weights)
    const credits = new Map(assigned.groups.map((credited) => [GroupResult.idOf(credited.result), credited]))
    return {
      ...assigned,
      groups: groups.map((result) => {
        const id = GroupResult.idOf(result)
        return credits.get(id) ?? withheld(result, suspicions.get(id) ?? [])
      }),
      metrics: { ...assigned.metrics, "audit/quarantined": groups.length - credits.size }
    }
  })
})
