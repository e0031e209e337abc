/** Checks that a run's models and environments give what its credit rule needs. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { TinkerError, Unsupported } from "../backend/TinkerError.ts"
import type { StopReason } from "../env/StopReason.ts"
import type * as Trajectory from "../env/Trajectory.ts"
import type { Credit } from "../learn/Credit.ts"
import * as GroupResult from "../rollout/GroupResult.ts"
import { InvalidOption } from "../settings/InvalidOption.ts"
import * as Suggestion from "../settings/Suggestion.ts"

/** Fails with `Unsupported` for the first of the credit's models whose capabilities exclude prompt log-probabilities. */
export const checkReaders = (
  { name, readers = [] }: Pick<Credit, "name" | "readers">
): Effect.Effect<void, TinkerError> => {
  const unable = readers.find(({ capabilities }) => capabilities?.promptLogprobs === false)
  if (unable === undefined) return Effect.void
  const detail = `the credit "${name}" needs the log-probabilities of prompts, which ${unable.modelPath} does not give`
  const reason = new Unsupported({ capability: "promptLogprobs", detail })
  return Effect.fail(new TinkerError({ operation: "computeLogprobs", reason }))
}

/**
 * Whether an attempt has a turn and was not cut short. An attempt that was cut short may not have reached the point where its environment
 * reports metrics.
 */
const isWhole = ({ stopReason, transitions }: Trajectory.Trajectory) =>
  transitions.length > 0 && Option.match(stopReason, { onNone: () => true, onSome: (reason) => ends.has(reason) })

const ends: ReadonlySet<string> = new Set<StopReason>(["completed", "tool_stopped"])

/** The names of the metrics that the group's surviving members reported, with repetitions. */
const reportedBy = (group: GroupResult.Group): ReadonlyArray<string> =>
  GroupResult.survivors(group).flatMap(([member, { transitions }]) =>
    [...transitions.map(({ metrics }) => metrics), group.metricsG[member] ?? {}].flatMap((metrics) =>
      Object.keys(metrics)
    )
  )

/**
 * Fails with the first metric that the credit compares and that no attempt reported. Checks nothing if all attempts failed or were cut
 * short.
 */
export const checkComponents = (
  { components = [] }: Pick<Credit, "components">,
  results: ReadonlyArray<GroupResult.GroupResult>
): Effect.Effect<void, InvalidOption> => {
  const groups = results.flatMap((result) => GroupResult.isSkipped(result) ? [] : [result])
  if (!groups.some((group) => GroupResult.survivors(group).some(([, trajectory]) => isWhole(trajectory)))) {
    return Effect.void
  }
  const reported = [...new Set(groups.flatMap(reportedBy))].toSorted()
  const missing = components.find((name) => !reported.includes(name))
  if (missing === undefined) return Effect.void
  const names = reported.length === 0 ? "they reported none" : Suggestion.describe(missing, reported)
  const expected = `a metric that attempts of the first iteration reported: ${names}`
  return Effect.fail(new InvalidOption({ field: "a metric that update.credit compares", found: missing, expected }))
}

/** Fails if a group that was not skipped has fewer members than an option of the credit needs. */
export const checkMembers = (
  { leastMembers }: Pick<Credit, "leastMembers">,
  results: ReadonlyArray<GroupResult.GroupResult>
): Effect.Effect<void, InvalidOption> => {
  if (leastMembers === undefined) return Effect.void
  const { members: least, option } = leastMembers
  const groups = results.filter((result) => !GroupResult.isSkipped(result))
  const small = groups.find(({ members }) => members.length < least)
  if (small === undefined) return Effect.void
  const expected = `at most the ${small.members.length} members of the group "${small.key}"`
  return Effect.fail(new InvalidOption({ field: option, found: String(least), expected }))
}
