/** Members that an iteration lost, and whether they are too many. */
import * as GroupResult from "../rollout/GroupResult.ts"
import { TooManyDropped } from "./TooManyDropped.ts"

const size = (result: GroupResult.GroupResult) => GroupResult.isSkipped(result) ? result.size : result.members.length

/** Members of all groups, lost ones included. */
export const started = (results: ReadonlyArray<GroupResult.GroupResult>) =>
  results.reduce((count, result) => count + size(result), 0)

/** The error of an iteration that lost more than a share of its members; undefined where it did not. */
export const tooMany = (
  iteration: number,
  results: ReadonlyArray<GroupResult.GroupResult>,
  maxDroppedShare: number
): TooManyDropped | undefined => {
  const lost = results.flatMap(GroupResult.lost)
  if (lost.length === 0 || lost.length / started(results) <= maxDroppedShare) return undefined
  const reasons = [...new Set(lost.map(({ failure }) => failure))].map((reason) => {
    const all = lost.filter(({ failure }) => failure === reason)
    return { reason, count: all.length, example: all[0]?.message ?? "" }
  })
  return new TooManyDropped({
    iteration,
    dropped: lost.length,
    started: started(results),
    maxDroppedShare,
    reasons: reasons.toSorted((left, right) => right.count - left.count)
  })
}
