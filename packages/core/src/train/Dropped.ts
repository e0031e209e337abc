/** Members that an iteration started and lost. */
import * as GroupResult from "../rollout/GroupResult.ts"
import { TooManyDropped, TrainError } from "./TrainError.ts"

const size = (result: GroupResult.GroupResult) => GroupResult.isSkipped(result) ? result.size : result.members.length

/** Members of all groups, whatever became of them. */
export const started = (results: ReadonlyArray<GroupResult.GroupResult>) =>
  results.reduce((count, result) => count + size(result), 0)

/** What is wrong with an iteration that lost more than a share of its members. */
export const tooMany = (
  iteration: number,
  results: ReadonlyArray<GroupResult.GroupResult>,
  maxDroppedShare: number
): TrainError | undefined => {
  const lost = results.flatMap(GroupResult.lost)
  if (lost.length === 0 || lost.length / started(results) <= maxDroppedShare) return undefined
  const reasons = [...new Set(lost.map(({ failure }) => failure))].map((reason) => {
    const all = lost.filter(({ failure }) => failure === reason)
    return { reason, count: all.length, example: all[0]?.message ?? "" }
  })
  return new TrainError({
    reason: new TooManyDropped({
      iteration,
      dropped: lost.length,
      started: started(results),
      maxDroppedShare,
      reasons: reasons.toSorted((left, right) => right.count - left.count)
    })
  })
}
